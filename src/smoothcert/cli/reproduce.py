"""smoothcert reproduce"""

from __future__ import annotations

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
    from smoothcert.reproduction import Exhibit, Item, RowVerdict, Task


@dataclass(frozen=True)
class Reproduce:
    """Train and certify what is missing of a table, figure or set of recipes, and compare it with the paper.

    The paper has tables 1 to 11 and figures 1 to 5. Called again it goes on where it was stopped. Runs lie where
    `smoothcert train` puts them.
    """

    what: Positional[str]
    """a table (6 or table6), a figure (figure5), a recipe, or a pattern such as 'mnist/*/0.50'"""
    seeds: str | None = None
    """such as 0,1,2 (default: 0; for table 7, which is of five seeds: 0,1,2,3,4)"""
    dry_run: bool = False
    """only show what would be done, and how long it would take"""
    out: Path = Path("runs")
    """folder of the run folders"""
    image: int = 8
    """figure 1: index of the test image (8 is a five that looks like a six)"""
    json: bool = False
    """as JSON"""
    variant: Variant = field(default_factory=Variant)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.cli.outcome import print_attack_settings, print_plan
        from smoothcert.reproduction import Exhibit, exhibit, items

        wanted = items(self.what)
        tasks = {item: [self._task(item, seed) for seed in self._seeds()] for item in wanted}
        if self.dry_run:
            print_plan([task for listed in tasks.values() for task in listed], self.json)
            return
        shown = exhibit(self.what)
        if shown == Exhibit("table", 5):
            print_attack_settings(self.json)
            return
        say: Callable[[str], None] = (lambda line: None) if self.json else print
        done: list[Task] = []
        skipped: dict[str, str] = {}
        results: dict[Item, dict[int, Results]] = {}
        for item, listed in tasks.items():
            for task in listed:
                try:
                    found = self._run(task, say)
                except InputError as error:  # of this one alone: the others may go on
                    skipped[task.folder.name] = str(error)
                    if len(tasks) * len(listed) > 1:
                        say(f"skipped {task.folder.name}: {error}")
                    continue
                done.append(task)
                if found is not None:
                    results.setdefault(item, {})[task.recipe.seed] = found
        if not done:
            raise InputError(f"nothing could be reproduced: {next(iter(skipped.values()))}")
        self._finish(shown, done, results, skipped, say)

    def _finish(
        self,
        shown: Exhibit | None,
        done: list[Task],
        results: dict[Item, dict[int, Results]],
        skipped: dict[str, str],
        say: Callable[[str], None],
    ) -> None:
        """The table or the picture, ours beside the printed."""
        from smoothcert.cli.cost import print_costs
        from smoothcert.cli.outcome import print_verdicts
        from smoothcert.reproduction import Exhibit

        first = {task.item.name: task for task in reversed(done)}  # of several seeds the first
        if shown == Exhibit("figure", 1):
            self._draw_gaps(first)
        elif shown == Exhibit("table", 3):
            print_costs([task.folder for task in done], self.json)
        else:
            print_verdicts(self._verdicts(results), results, skipped, self.json)
            if shown is not None and shown.kind == "figure":
                self._draw(
                    shown.number, {item.name: next(iter(seeds.values())) for item, seeds in results.items()}, say
                )

    def _seeds(self) -> list[int]:
        from smoothcert.reproduction import Exhibit, exhibit

        if self.seeds is None:
            return list(range(5)) if exhibit(self.what) == Exhibit("table", 7) else [0]
        try:
            seeds = list(dict.fromkeys(int(seed) for seed in self.seeds.split(",")))
        except ValueError:
            raise InputError(f"--seeds takes whole numbers with commas, such as 0,1,2, not {self.seeds!r}") from None
        return seeds

    def _task(self, item: Item, seed: int) -> Task:
        from smoothcert.recipes import find
        from smoothcert.reproduction import Task

        recipe = replace(self.variant.of(find(item.name)), seed=seed)
        certification = self.variant.certification_of(recipe)
        return Task(item, recipe, certification, self.out / self.variant.run_name(item.name, seed))

    def _run(self, task: Task, say: Callable[[str], None]) -> Results | None:
        """Each step is done only as far as it is not done yet; a folder of another recipe is refused."""
        from smoothcert.analysis import read_results
        from smoothcert.certification.selection import Selection
        from smoothcert.certification.target import open_target
        from smoothcert.cli.certify import certify_showing
        from smoothcert.cli.train import train_showing
        from smoothcert.procedures.fixed import Fixed
        from smoothcert.recipes import to_dict
        from smoothcert.records.run_folder import RunFolder

        recipe, run, wanted = task.recipe, RunFolder(task.folder), task.certification
        device = self.machine.ready()
        self.machine.load(recipe.data, "test")  # what lacks data leaves no folder behind
        run.claim(to_dict(recipe))
        marked = f" ({recipe.reduced})" if recipe.reduced else ""
        if not run.model.exists():
            row = train_showing(recipe, task.folder, self.machine)
            say(f"trained {task.folder}: noisy test accuracy {100 * row['test_noisy_accuracy']:.1f}%{marked}")
        if not task.item.certified:
            return None
        target = open_target(str(task.folder), device)
        g = target.smoothed(recipe.seed, device)
        procedure = Fixed(target.noise, wanted.n0, wanted.n, wanted.alpha)
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

    def _draw(self, figure: int, ours: dict[str, Results], say: Callable[[str], None]) -> None:
        from smoothcert.analysis.plots import plot_panels
        from smoothcert.reproduction.figure import panels

        mark = " (reduced)" if self.variant.scale != 1 else ""
        plot_panels([replace(p, title=p.title + mark) for p in panels(figure, ours)], self._picture(figure))
        say(str(self._picture(figure)))

    def _draw_gaps(self, tasks: dict[str, Task]) -> None:
        """Figure 1: Consistency beside the others, all of them under the same draws."""
        import json

        from smoothcert.analysis.gaps import plot_gaps
        from smoothcert.certification.target import open_target
        from smoothcert.cli.display import print_table
        from smoothcert.reproduction.gaps import DRAWS, gaps_at
        from smoothcert.reproduction.plan import FIGURE_1, FIGURE_1_PANELS

        device, gaps = self.machine.ready(), {}
        for method, name in FIGURE_1.items():
            if name in tasks:
                target = open_target(str(tasks[name].folder), device)
                test_set = self.machine.load(tasks[name].recipe.data, "test")
                gaps[method] = gaps_at(target, test_set, self.image, DRAWS, tasks[name].recipe.seed, device)
        panels = [tuple(method for method in panel if method in gaps) for panel in FIGURE_1_PANELS]
        reduced = next((task.recipe.reduced for task in tasks.values() if task.recipe.reduced), None)
        title = f"MNIST, test image {self.image}, σ = 0.50, {DRAWS:,} draws" + (f"; {reduced}" if reduced else "")
        plot_gaps(gaps, self._picture(1), title, [panel for panel in panels if panel])
        wrong = {method: float((values < 0).mean()) for method, values in gaps.items()}
        if self.json:
            about = {"image": self.image, "draws": DRAWS, "reduced": reduced, "misclassified": wrong}
            print(json.dumps(about | {"picture": str(self._picture(1))}, indent=2))
            return
        lines = [
            [m, f"{100 * share:.2f}", f"{gaps[m].mean():.2f}", f"{gaps[m].std():.2f}"] for m, share in wrong.items()
        ]
        print()
        print_table([title, "misclassified %", "mean gap", "s.d."], lines)
        print(self._picture(1))

    def _picture(self, figure: int) -> Path:
        mark = f"-reduced{self.variant.scale:g}" if self.variant.scale != 1 else ""
        return self.out / f"figure{figure}{mark}.pdf"
