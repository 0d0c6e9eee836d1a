"""Our numbers beside the printed ones, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, stdev
from typing import Any

from smoothcert.analysis.metrics import summarize
from smoothcert.analysis.reduction import reductions
from smoothcert.analysis.results import Results
from smoothcert.analysis.verdict import Verdict, judge, rounded_as_printed
from smoothcert.files.finite import finite
from smoothcert.files.shown import differences
from smoothcert.paper import Row
from smoothcert.recipes import find_recipe, to_dict


@dataclass(frozen=True)
class Cell:
    """One number of ours, a mean over trainings, and the paper's; accuracies in percent, `radius` None for the ACR."""

    radius: float | None
    ours: float
    """what our certificates prove"""
    as_printed: float
    """the same after rounding radii to three digits, nearest, as the logs behind the printed numbers do"""
    standard_error: float
    """over images: the same images for every training, so more trainings do not shrink it"""
    deviation: float | None
    """over trainings, where there are two or more"""
    paper: float

    @property
    def gap(self) -> float:
        return self.as_printed - self.paper


@dataclass(frozen=True)
class BesidePaper:
    """All cells of one printed row that our logs have something to say about, and the verdict on its ACR."""

    row: Row
    cells: tuple[Cell, ...]
    verdict: Verdict
    reductions: tuple[str, ...]
    changed: tuple[str, ...]
    """settings that are not the row's"""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, which knows no NaN and no infinity: None."""
        return {
            "row": self.row.name,
            "title": self.row.title,
            "verdict": self.verdict.word,
            "difference": finite(asdict(self.verdict)),
            "reductions": self.reductions,
            "changed": self.changed,
            "cells": [finite(asdict(cell) | {"gap": cell.gap}) for cell in self.cells],
        }


def beside(everything: Sequence[Results], row: Row, changed: Sequence[str] = ()) -> BesidePaper:
    """Our cells beside those of `row`, and the verdict of `judge`. `everything`: one log per training.

    What was changed follows from the logs too, where they state a recipe, but less readably than the caller may know.
    """
    ours = [_numbers(results, row) for results in everything]
    printed = [_numbers(rounded_as_printed(results), row) for results in everything]
    cells = []
    for radius, paper in ((None, row.acr), *row.accuracy):
        if all(radius in found for found in ours):
            values, errors = zip(*(found[radius] for found in ours), strict=True)
            as_printed = fmean(found[radius][0] for found in printed)
            deviation = stdev(values) if len(values) > 1 else None
            cells.append(Cell(radius, fmean(values), as_printed, fmean(errors), deviation, paper))
    less = dict.fromkeys(words for results in everything for words in reductions(results))
    changed = tuple(changed or dict.fromkeys(words for results in everything for words in _changed(results, row)))
    return BesidePaper(row, tuple(cells), judge(everything, row, changed), tuple(less), changed)


def _changed(results: Results, row: Row) -> Iterator[str]:
    """In what this is a run of none of the row's recipes; that it was reduced is said apart from this."""
    recipe, data = results.header.recipe, results.header.data
    if data is not None and data.split != "test":
        yield f"certified on {data.split} images"
    if recipe is None or recipe.reduced:
        return
    wanted = [replace(find_recipe(name), seed=recipe.seed) for name in row.recipes]
    if recipe not in wanted:
        yield differences(to_dict(recipe), to_dict(wanted[0]), ("here", "in the row's recipe"))


def _numbers(results: Results, row: Row) -> dict[float | None, tuple[float, float]]:
    """ACR (by None) and accuracies in percent at the row's radii, with standard errors; of a `curve` log its grid's."""
    s = summarize(results, [radius for radius, _ in row.accuracy])
    found: dict[float | None, tuple[float, float]] = {} if s.acr is None else {None: (s.acr, s.acr_standard_error)}
    for radius, share in s.certified_accuracy.items():
        if share is not None:
            found[radius] = 100 * share, 100 * math.sqrt(share * (1 - share) / len(results))
    return found
