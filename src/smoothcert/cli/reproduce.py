"""smoothcert reproduce"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tyro.conf import Positional

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.progress import Progress
from smoothcert.cli.options.variant import Variant
from smoothcert.cli.parse import require_seed
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.reproduction.plan import Progress as TaskProgress
    from smoothcert.reproduction.plan import Task
    from smoothcert.reproduction.reproduce import Reproduction


@dataclass(frozen=True)
class Reproduce:
    """Train and certify what is missing of a table, figure or set of recipes, and compare it with the paper.

    The paper has tables 1 to 11 and figures 1 to 5. Called again it goes on where it was stopped. Runs lie where
    `smoothcert train` puts them.

    Example: smoothcert reproduce table6 --scale 0.01
    """

    what: Positional[str]
    """a table (6 or table6), a figure (figure5), a recipe, or a pattern such as 'mnist/*/0.50'"""
    seeds: str | None = None
    """such as 0,1,2 (default: 0; for table 7, which is of five seeds: 0,1,2,3,4)"""
    dry_run: bool = False
    """only show what would be done, and how long it would take"""
    out: Path = Path("runs")
    """folder of the run folders"""
    every: int | None = None
    """certify every k-th image (default: as the paper: all, but of ImageNet every 100th; or by --scale)"""
    n: int | None = None
    """votes for each certificate (default: the paper's 100,000, or by --scale)"""
    procedure: Literal["paper", "curve", "adaptive"] | None = None
    """who decides how many votes an image gets (default: paper, as `smoothcert certify`)"""
    image: int = 8
    """figure 1: index of the test image (8 is a five that looks like a six)"""
    json: bool = False
    """print one JSON document"""
    progress: Progress = "auto"
    variant: Variant = field(default_factory=Variant)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.cli.beside_paper import print_attack_settings, print_gaps, print_verdicts
        from smoothcert.cli.cost import print_costs
        from smoothcert.reproduction.plan import Exhibit, exhibit, plan

        variant: dict[str, Any] = {
            "seeds": self._seeds(),
            "settings": self.variant.settings,
            "scale": self.variant.scale,
            **{"every": self.every, "n": self.n, "procedure": self.procedure},
        }
        shown = exhibit(self.what)
        if self.dry_run:
            self._print_plan(plan(self.what, self.out, **variant))
        elif shown == Exhibit("table", 5):
            print_attack_settings(self.json)
        else:
            done = self._run(variant)
            if shown == Exhibit("figure", 1):
                print_gaps(done, self.image, self.json)
            elif shown == Exhibit("table", 3):
                print_costs([task.folder for task in done.tasks], self.json)
            else:
                print_verdicts(done, self.json)

    def _run(self, variant: dict[str, Any]) -> Reproduction:
        """A progress bar for each training and certification, and a line when it is done."""
        from smoothcert.cli.display import Display
        from smoothcert.reproduction.reproduce import Milestone, reproduce

        work = reproduce(self.what, self.out, **variant, image=self.image, **self.machine.where())
        with contextlib.closing(work), contextlib.ExitStack() as bars:
            display = None
            for event in work:
                if isinstance(event, Milestone):
                    bars.close()  # a bar and a line must not share the terminal
                    if event.kind == "started":
                        display = bars.enter_context(Display(str(event), self.progress))
                    elif not self.json:
                        print(event)
                elif display is not None:
                    display.show(event)
        return work.result

    def _seeds(self) -> list[int] | None:
        try:
            seeds = None if self.seeds is None else [int(seed) for seed in self.seeds.split(",")]
        except ValueError:
            raise InputError(f"--seeds takes whole numbers with commas, such as 0,1,2, not {self.seeds!r}") from None
        for seed in seeds or []:
            require_seed(seed, "--seeds")
        return seeds

    def _print_plan(self, tasks: list[Task]) -> None:
        """One line per run: what is done, what is to do, and the hours left by `recipes.estimate`."""
        from smoothcert.cli.display import print_json, print_table
        from smoothcert.cli.recipes import hours
        from smoothcert.recipes.estimate import MACHINE

        if self.json:
            print_json([task.to_dict() for task in tasks])
            return
        if not tasks:
            print("nothing to train or certify: the table prints settings, which our recipes have")
            return
        plan = [(task, task.progress()) for task in tasks]
        header = ["run", "paper's rows", "train", "certify", "train h", "certify h"]
        print_table(header, [_line(task, progress) for task, progress in plan])
        estimates = [hour for _, p in plan for hour in (p.training_hours, p.certification_hours)]
        known = [hour for hour in estimates if hour is not None]
        left = f"about {hours(sum(known))} h" if len(known) == len(estimates) else f"at least {hours(sum(known))} h"
        reduced = next((t.recipe.reduced for t, _ in plan if t.recipe.reduced), None)
        mark = f"; reduced run, {reduced.partition(':')[0]}" if reduced else ""
        print(f"\n{len(plan)} runs, {left} left on {MACHINE} (an estimate){mark}")


def _line(task: Task, p: TaskProgress) -> list[str]:
    from smoothcert.cli.recipes import hours

    train = "done" if p.trained else f"{p.epochs} of {task.recipe.epochs} epochs done"
    if not task.item.certified:
        certify = "not needed"
    elif p.selected is not None and p.certified >= p.selected:
        certify = "done"
    elif p.certified:
        certify = f"{p.certified} of {p.selected} images done"
    else:
        certify = f"n = {task.certification.n:,}, every {task.certification.every}"
    rows = " ".join(row.name for row in task.item.rows) or "none"
    return [str(task.folder), rows, train, certify, hours(p.training_hours), hours(p.certification_hours)]
