"""smoothcert reproduce"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from smoothcert.cli.machine import Machine
from smoothcert.cli.variant import Variant
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.analysis import Results
    from smoothcert.reproduction import Item, RowVerdict, Task


@dataclass(frozen=True)
class Reproduce:
    """Train and certify what is missing of a table, figure or set of recipes, and compare it with the paper.

    Called again it goes on where it was stopped. Runs lie where `smoothcert train` puts them.
    """

    what: Positional[str]
    """a table (6 or table6), a figure (figure5), a recipe, or a pattern such as 'mnist/*/0.50'"""
    seeds: str | None = None
    """such as 0,1,2 (default: 0; for table 7, which is of five seeds: 0,1,2,3,4)"""
    dry_run: bool = False
    """only show what would be done, and how long it would take"""
    out: Path = Path("runs")
    """folder of the run folders"""
    json: bool = False
    """as JSON"""
    variant: Variant = field(default_factory=Variant)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.cli.outcome import print_plan, print_verdicts
        from smoothcert.reproduction import items

        wanted = items(self.what)
        tasks = {item: [self._task(item, seed) for seed in self._seeds()] for item in wanted}
        if self.dry_run:
            print_plan([task for listed in tasks.values() for task in listed], self.json)
            return
        say: Callable[[str], None] = (lambda line: None) if self.json else print
        skipped: dict[str, str] = {}
        results: dict[Item, dict[int, Results]] = {}
        for item, listed in tasks.items():
            for task in listed:
                try:
                    results.setdefault(item, {})[task.recipe.seed] = self._run(task, say)
                except InputError as error:  # of this one alone: the others may go on
                    skipped[task.folder.name] = str(error)
                    if len(tasks) * len(listed) > 1:
                        say(f"skipped {task.folder.name}: {error}")
        if not any(results.values()):
            raise InputError(f"nothing could be reproduced: {next(iter(skipped.values()))}")
        print_verdicts(self._verdicts(results), results, skipped, self.json)
        self._draw([r for by_seed in results.values() for r in list(by_seed.values())[:1]], say)

    def _seeds(self) -> list[int]:
        if self.seeds is None:
            return list(range(5)) if re.fullmatch(r"(table|tab)?[ _.-]?7", self.what.lower()) else [0]
        try:
            seeds = list(dict.fromkeys(int(seed) for seed in self.seeds.split(",")))
        except ValueError:
            raise InputError(f"--seeds takes whole numbers with commas, such as 0,1,2, not {self.seeds!r}") from None
        return seeds

    def _task(self, item: Item, seed: int) -> Task:
        from smoothcert.recipes import certification_of, find, scaled_certification
        from smoothcert.reproduction import Task

        recipe = replace(self.variant.of(find(item.name)), seed=seed)
        certification = scaled_certification(certification_of(recipe.data), self.variant.scale)
        return Task(item, recipe, certification, self.out / self.variant.run_name(item.name, seed))

    def _run(self, task: Task, say: Callable[[str], None]) -> Results:
        """Each step is done only as far as it is not done yet; a folder of another recipe is refused."""
        from smoothcert.analysis import read_results
        from smoothcert.certification.selection import Selection
        from smoothcert.certification.target import open_target
        from smoothcert.cli.certify import certify_showing
        from smoothcert.cli.train import train_showing
        from smoothcert.recipes import to_dict
        from smoothcert.run_folder import RunFolder
        from smoothcert.smoothed.paper import Paper

        recipe, run, wanted = task.recipe, RunFolder(task.folder), task.certification
        device = self.machine.ready()
        self.machine.load(recipe.data, "test")  # what lacks data leaves no folder behind
        run.claim(to_dict(recipe))
        marked = f" ({recipe.reduced})" if recipe.reduced else ""
        if not run.model.exists():
            row = train_showing(recipe, task.folder, self.machine)
            say(f"trained {task.folder}: noisy test accuracy {100 * row['test_noisy_accuracy']:.1f}%{marked}")
        target = open_target(str(task.folder), device)
        g = target.smoothed(recipe.seed, device)
        procedure = Paper(target.noise, wanted.n0, wanted.n, wanted.alpha)
        log = certify_showing(target, g, procedure, Selection(wanted.every), self.machine)
        results = read_results(log)
        say(f"certified {task.folder}: {len(results)} images{marked}")
        return results

    def _verdicts(self, results: dict[Item, dict[int, Results]]) -> list[tuple[Item, RowVerdict]]:
        from smoothcert.reproduction import compare

        changed = self.variant.settings
        return [
            (item, compare(row, list(by_seed.values()), list(by_seed), changed))
            for item, by_seed in results.items()
            if by_seed
            for row in item.rows
        ]

    def _draw(self, results: list[Results], say: Callable[[str], None]) -> None:
        from smoothcert.reproduction.plan import figure_number

        number = figure_number(self.what)
        if number is None:
            return
        if number == 1:
            say("figure 1 is drawn from the gaps of these runs by `smoothcert figure gaps`")
            return
        from smoothcert.analysis.plots import by_ablation, by_sigma, plot_panels

        mark = f"-reduced{self.variant.scale:g}" if self.variant.scale != 1 else ""
        panels = by_ablation(results) if number == 4 else by_sigma(results)
        panels = [replace(panel, title=f"{panel.title} (reduced)") for panel in panels] if mark else panels
        picture = self.out / f"figure{number}{mark}.pdf"
        plot_panels(panels, picture)
        say(str(picture))
