"""Our numbers beside the printed ones, and how far apart they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from smoothcert.analysis.metrics import certified_accuracy, grid_of, summarize
from smoothcert.analysis.results import Results
from smoothcert.analysis.verdict import Verdict, judge, rounded_as_printed
from smoothcert.paper import Row


@dataclass(frozen=True)
class Cell:
    """One number of ours and the paper's; accuracies in percent, `radius` None for the ACR."""

    radius: float | None
    ours: float
    """what our certificates prove"""
    as_printed: float
    """the same after rounding radii to three digits, nearest, as the logs behind the printed numbers do"""
    paper: float
    standard_error: float

    @property
    def gap(self) -> float:
        return self.as_printed - self.paper


@dataclass(frozen=True)
class BesidePaper:
    """All cells of one printed row that our log has something to say about."""

    row: Row
    cells: tuple[Cell, ...]
    verdict: Verdict


def beside(results: Results, row: Row) -> BesidePaper:
    """Our cells beside those of `row`, and the verdict on the ACR."""
    grid = grid_of(results)
    asked = [(r, percent) for r, percent in row.accuracy if grid is None or r in grid]
    radii = [r for r, _ in asked]
    printed = rounded_as_printed(results)
    ours, theirs = summarize(results, radii), summarize(printed, radii)
    cells = []
    if ours.acr is not None and theirs.acr is not None:
        cells.append(Cell(None, ours.acr, theirs.acr, row.acr, ours.acr_standard_error))
    accuracies = zip(asked, certified_accuracy(results, radii), certified_accuracy(printed, radii), strict=True)
    for (r, percent), p, q in accuracies:
        error = 100 * math.sqrt(float(p) * (1 - float(p)) / len(results))
        cells.append(Cell(r, 100 * float(p), 100 * float(q), percent, error))
    return BesidePaper(row, tuple(cells), judge([results], row))
