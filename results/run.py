"""A published run: one training and its certification, and what the paper prints for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from results.all_images import acr_by_other_logs, acr_by_rough_log, difference_by_rough_logs
from results.equal_votes import AtEqualVotes, at_equal_votes

from smoothcert.analysis import Results, read_results
from smoothcert.analysis.beside_paper import Cell, beside
from smoothcert.analysis.metrics import Summary, paired_difference, summarize
from smoothcert.analysis.training_cost import training_cost
from smoothcert.analysis.verdict import Verdict, judge, rounded_as_printed
from smoothcert.errors import InputError
from smoothcert.paper import Row, published
from smoothcert.recipes import Init, Recipe, printed_rows, real_name
from smoothcert.recipes.estimate import training_passes
from smoothcert.records.log import missing, read_certification
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log

ALL_IMAGES = "all.jsonl"  # beside certify.jsonl: a certification of all test images with few votes
MAIN_TABLE = {"mnist": 6, "cifar10-resnet20": 4, "cifar10": 1}
"""the table of the paper that has the data set's certified accuracies"""


@dataclass(frozen=True)
class Run:
    """The folder's name is DATA-METHOD-σ[-reducedF]-seedS."""

    folder: Path
    data: str
    method: str
    sigma: float
    seed: int

    @property
    def log(self) -> Path:
        return self.folder / "certify.jsonl.gz"

    @cached_property
    def results(self) -> Results:
        return read_results(self.log)

    @cached_property
    def rough(self) -> Results | None:
        """The certification of all images with few votes, where there is one."""
        log = self.folder / f"{ALL_IMAGES}.gz"
        return read_results(log) if log.exists() else None

    @cached_property
    def recipe(self) -> Recipe:
        return RunFolder(self.folder).read_recipe()

    @property
    def versions(self) -> dict[str, str]:
        about = read_certification(self.log).environment
        return {name: said for name, said in about.items() if name not in ("started", "changed")}

    @property
    def minutes(self) -> float:
        """By the median epoch: others may have been disturbed. Those of the run that it started from count too."""
        spent = training_cost(read_training_log(RunFolder(self.folder).training_log))
        before = 0.0 if self.recipe.init is None else self._started_from(self.recipe.init).minutes
        return before + spent.epochs * spent.epoch_seconds / 60

    def _started_from(self, init: Init) -> Run:
        """The published run that has these weights."""
        found = run_in(self.folder.parent / init.name)
        model = found.results.header.model
        if model is None or model.sha256 != init.sha256:
            raise InputError(f"{self.folder}: started from other weights than {found.folder} has: publish those too")
        return found

    @property
    def passes(self) -> int:
        """Forward-backward passes an image of the training set went through."""
        return round(training_passes(self.recipe))

    @cached_property
    def summary(self) -> Summary:
        """ACR and certified accuracy at radius 0."""
        return summarize(self.results, [0.0])

    @cached_property
    def acr(self) -> Cell:
        """On the certified images, beside the paper's mean of five seeds where it has one."""
        return beside([self.results], self._row(7) if self.data == "mnist" else self.printed).cells[0]

    @cached_property
    def verdict(self) -> Verdict:
        """Beside the authors' five seeds, image by image: for the recipes of table 7 whose logs they published."""
        return judge([self.results], self._row(7))

    @cached_property
    def all_images(self) -> tuple[float, float]:
        """MNIST only: the ACR on all test images, radii rounded as in the printed numbers, and its standard error.

        The authors' own ACR plus the difference, where they published this recipe's logs. Else by their Consistency,
        and our own log of all images where there is one.
        """
        if (same := published(self.recipe_name)) is not None:
            return float(same.contribution.mean()) + self.verdict.difference, self.verdict.standard_error
        ours = rounded_as_printed(self.results)
        theirs = _as_log(f"mnist/consistency/{self.sigma:.2f}")
        return acr_by_other_logs(ours, theirs) if self.rough is None else acr_by_rough_log(ours, self.rough, theirs)

    @cached_property
    def beside_consistency(self) -> AtEqualVotes:
        """Beside the authors' Consistency at this σ: on CIFAR-10 a ResNet-110, whatever the method of ours."""
        log = published(real_name(f"{self.data}/consistency/{self.sigma:.2f}"))
        if log is None:
            raise InputError(f"{self.folder}: the authors published no log of Consistency to compare it with")
        return at_equal_votes(self.results, log, self.sigma)

    @property
    def recipe_name(self) -> str:
        return f"{self.data}/{self.method}/{self.sigma:.2f}"

    def minus(self, other: Run) -> tuple[float, float]:
        """This ACR minus the other's, image by image, with standard error; on all images where both have rough logs."""
        if self.rough is None or other.rough is None:
            return paired_difference(self.results, other.results)
        return difference_by_rough_logs(self.results, self.rough, other.results, other.rough)

    @property
    def has_row(self) -> bool:
        """The paper prints one for what it was trained as; none for photographs and later methods."""
        return self.data in MAIN_TABLE and bool(printed_rows(self.twin))

    @property
    def printed(self) -> Row:
        """The row with certified accuracies, which the table of five seeds has not."""
        return self._row(MAIN_TABLE[self.data])

    def _row(self, table: int) -> Row:
        (row,) = (row for row in printed_rows(self.twin) if row.table == table)
        return row

    @property
    def twin(self) -> str:
        """The recipe of the paper that it stands beside."""
        return re.sub("-(fast|onward|short|tenth)/", "/", self.recipe_name).replace("/best/", "/consistency/")


def _as_log(recipe: str) -> Results:
    """The authors' mean over seeds as if it were one log."""
    log = published(recipe)
    if log is None:
        raise InputError(f"{recipe}: the authors published no log of it")
    return Results(recipe, log.index, log.label, log.label, log.contribution, np.ones(len(log.index), bool))


def run_in(folder: Path) -> Run:
    name = re.fullmatch(r"([a-z0-9]+(?:-resnet20)?)-([a-z+-]+)-([\d.]+)(?:-reduced[\d.]+)?-seed(\d+)", folder.name)
    if name is None:
        raise InputError(f"{folder}: the name of a published run is DATA-METHOD-σ-seedN")
    return Run(folder, name[1], name[2], float(name[3]), int(name[4]))


def find_runs(folder: Path) -> list[Run]:
    runs = [run_in(path) for path in sorted(folder.iterdir())]
    for run in runs:
        if gap := missing(read_certification(run.log)):  # which also holds it against its closing row
            raise InputError(f"{run.log}: {len(gap)} selected images are missing")
    return runs


def of(runs: Sequence[Run], methods: Sequence[str], data: str = "mnist") -> Iterator[Run]:
    """By σ, then in the order of `methods`, then by seed."""
    chosen = [r for r in runs if r.method in methods and r.data == data]
    yield from sorted(chosen, key=lambda r: (r.sigma, methods.index(r.method), r.seed))
