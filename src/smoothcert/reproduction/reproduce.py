"""reproduce: a table, a figure or recipes → runs, certificates, and verdicts beside the paper."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis import Results, read_results, summarize
from smoothcert.analysis.beside_paper import BesidePaper, beside
from smoothcert.analysis.reduction import reductions
from smoothcert.certification.certify_run import Certified, certify_run
from smoothcert.data import load, splits
from smoothcert.errors import InputError
from smoothcert.figures.curves import plot_panels
from smoothcert.figures.gaps import plot_gaps
from smoothcert.files.finite import finite
from smoothcert.machine.device import Where
from smoothcert.machine.work import work
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.selection import Selection
from smoothcert.reproduction.figure import panels
from smoothcert.reproduction.gaps import DRAWS, gaps_of_runs
from smoothcert.reproduction.plan import FIGURE_1, FIGURE_1_PANELS, Exhibit, Item, Task, exhibit, plan
from smoothcert.training.count_votes import Votes
from smoothcert.training.loop import Epoch, Step
from smoothcert.training.train import train


@dataclass(frozen=True)
class Milestone:
    """A training or certification was started or finished, or a run was skipped; `str` says it in words.

    Other events are about what was started last.
    """

    kind: Literal["started", "finished", "skipped"]
    task: Task
    words: str

    def __str__(self) -> str:
        reduced = self.task.recipe.reduced if self.kind == "finished" else None
        return self.words + (f" ({reduced})" if reduced else "")


@dataclass(frozen=True)
class Reproduction:
    """All that was reproduced, by this call or earlier ones."""

    tasks: tuple[Task, ...]
    """what is done"""
    results: Mapping[Item, Mapping[int, Results]]
    """certifications by recipe and seed"""
    skipped: Mapping[str, str]
    """the reason by run"""
    verdicts: tuple[tuple[Item, BesidePaper], ...]
    """one for each printed row"""
    gaps: Mapping[str, NDArray[np.float64]]
    """figure 1: by method"""
    picture: Path | None
    """of a figure"""

    @property
    def unprinted(self) -> list[dict[str, Any]]:
        """ACR of each run that is in no table of the paper."""
        return [
            {"recipe": item.name, "seed": seed, "acr": (s := summarize(results, [])).acr}
            | {"standard_error": finite(s.acr_standard_error), "reductions": reductions(results)}
            for item, by_seed in self.results.items()
            if not item.rows
            for seed, results in by_seed.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        rows = [
            {"recipe": item.name, "seeds": list(self.results[item]), **found.to_dict()} for item, found in self.verdicts
        ]
        return {"rows": rows, "unprinted": self.unprinted, "skipped": dict(self.skipped)}


@work
def reproduce(
    what: str,
    out: str | os.PathLike[str] = "runs",
    *,
    seeds: Sequence[int] | None = None,
    settings: Sequence[str] = (),
    scale: float = 1.0,
    every: int | None = None,
    n: int | None = None,
    procedure: Literal["paper", "curve", "adaptive"] | None = None,
    image: int = 8,
    **where: Unpack[Where],
) -> Generator[Milestone | Step | Epoch | Votes | Certified, None, Reproduction]:
    """Train and certify what is missing of a table, figure or set of recipes, and compare it with the paper.

    Called again, it goes on where it was stopped: a run whose log is complete, packed or not, is not touched, and needs
    neither its weights nor its data. A run that cannot be made, for example because its data are not here, is skipped.
    While one is trained or certified, it is locked as by `train` and `certify_run`.

    Args:
        what: a table ("6" or "table6"), a figure ("figure5"), a recipe, or a pattern such as "mnist/*/0.50"
        out: folder of the run folders and of a figure's picture
        seeds: of training and certification (default: 0; for table 7, which is of five seeds, 0 to 4)
        settings: values to change in every recipe, such as "lr=0.02"
        scale: fraction of epochs, images and votes, for a quick look that is marked as reduced
        every: certify every k-th test image (default: as the paper, or by `scale`)
        n: votes for each certificate (default: the same)
        procedure: who decides how many votes an image gets (default: the paper's)
        image: figure 1: index of the test image
        where: data, the folder of data sets; device, such as "cpu" or "cuda:1"; threads; workers, which decode pictures

    Returns:
        work: iterate over its events (`Milestone`, `Step`, `Epoch`, `Votes`, `Certified`), or call `finish()`, which
            gives the `Reproduction` with its verdicts

    Example:
        >>> done = reproduce("table6", scale=0.01).finish()  # doctest: +SKIP
        >>> [(found.row.name, found.verdict.word) for _, found in done.verdicts]  # doctest: +SKIP
        [('6:1', 'reduced run'), ('6:2', 'reduced run'), ...]
    """
    asked: dict[str, Any] = {"seeds": seeds, "settings": settings, "scale": scale}
    shown, tasks = exhibit(what), plan(what, out, **asked, every=every, n=n, procedure=procedure)
    done: list[Task] = []
    skipped: dict[str, str] = {}
    results: dict[Item, dict[int, Results]] = {}
    for task in tasks:
        try:
            if (log := task.finished_log()) is not None:
                yield Milestone("finished", task, f"found {log}")
                results.setdefault(task.item, {})[task.recipe.seed] = read_results(log)
                done.append(task)
                continue
            # Before it is trained: what lacks data leaves no folder behind.
            split = splits(task.recipe.held_out)[1]
            images = len(load(task.recipe.data, split, where.get("data"), where.get("workers")))
            if every is not None:
                Selection(every).fair(images)
            yield from _train(task, where)
            if task.item.certified:
                results.setdefault(task.item, {})[task.recipe.seed] = yield from _certify(task, images, where)
        except InputError as error:  # of this one alone: the others may go on
            skipped[task.folder.name] = str(error)
            if len(tasks) > 1:
                yield Milestone("skipped", task, f"skipped {task.folder.name}: {error}")
        else:
            done.append(task)
    if tasks and not done:
        raise InputError(f"nothing could be reproduced: {next(iter(skipped.values()))}")
    verdicts = tuple(
        (item, beside(list(by_seed.values()), row, settings)) for item, by_seed in results.items() for row in item.rows
    )
    picture = Path(out) / f"{shown}{f'-reduced{scale:g}' if scale != 1 else ''}.pdf"
    if shown is None or shown.kind != "figure":
        return Reproduction(tuple(done), results, skipped, verdicts, {}, None)
    gaps = _draw_gaps(done, image, picture, where) if shown == Exhibit("figure", 1) else {}
    if not gaps:
        ours = {item.name: next(iter(by_seed.values())) for item, by_seed in results.items()}
        mark = " (reduced)" if scale != 1 else ""
        plot_panels([replace(p, title=p.title + mark) for p in panels(shown.number, ours)], picture)
    return Reproduction(tuple(done), results, skipped, verdicts, gaps, picture)


def _train(task: Task, where: Where) -> Generator[Milestone | Step | Epoch | Votes, None, None]:
    """Only as far as it is not done yet; a folder of another recipe is refused."""
    run = RunFolder(task.folder)
    task.refuse_another()
    if not run.model.exists():
        yield Milestone("started", task, f"train {task.folder.name}")
        training = train(task.recipe, task.folder, **where)
        yield from training
        yield Milestone("finished", task, f"trained {task.folder}: {training.result.tested}")


def _certify(task: Task, images: int, where: Where) -> Generator[Milestone | Certified, None, Results]:
    yield Milestone("started", task, f"certify {task.folder.name}")
    how = asdict(task.certification) | {"every": min(task.certification.every, images)}  # --scale knows no small sets
    certification = certify_run(task.folder, **how, seed=task.recipe.seed, **where)
    yield from certification
    results = read_results(certification.result)
    yield Milestone("finished", task, f"certified {task.folder}: {len(results)} images")
    return results


def _draw_gaps(done: Sequence[Task], image: int, picture: Path, where: Where) -> dict[str, NDArray[np.float64]]:
    """Figure 1: Consistency beside the others, all of them under the same draws."""
    first, gaps = {task.item.name: task for task in reversed(done)}, {}  # of several seeds the first
    for method, name in FIGURE_1.items():
        if name in first:
            task = first[name]
            (gaps[method],) = gaps_of_runs([task.folder], image=image, seed=task.recipe.seed, **where).values()
    shared = [tuple(method for method in panel if method in gaps) for panel in FIGURE_1_PANELS]
    reduced = next((task.recipe.reduced for task in done if task.recipe.reduced), None)
    title = f"MNIST, test image {image}, σ = 0.50, {DRAWS:,} draws" + (f"; {reduced}" if reduced else "")
    plot_gaps(gaps, picture, title, [panel for panel in shared if panel])
    return gaps
