"""Our numbers, over seeds, beside a printed row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from smoothcert.analysis import Results
from smoothcert.analysis.beside_paper import beside
from smoothcert.analysis.reduction import reductions
from smoothcert.analysis.verdict import Verdict, judge
from smoothcert.paper import Row


@dataclass(frozen=True)
class Compared:
    """One cell: means over seeds; accuracies in percent, `radius` None for the ACR."""

    radius: float | None
    ours: float
    standard_error: float
    """over images: the same images for every seed, so more seeds do not shrink it"""
    deviation: float | None
    """over seeds, where there are two or more"""
    paper: float
    gap: float
    """ours, with radii rounded as behind the printed numbers, minus the paper's"""


@dataclass(frozen=True)
class RowVerdict:
    """All cells of one printed row, and the verdict on its ACR."""

    row: Row
    seeds: tuple[int, ...]
    cells: tuple[Compared, ...]
    reductions: tuple[str, ...]
    changed: tuple[str, ...]
    """settings that are not the row's"""
    verdict: Verdict


def compare(row: Row, everything: Sequence[Results], seeds: Sequence[int], changed: Sequence[str] = ()) -> RowVerdict:
    """The cells as means over seeds; the verdict is that of `judge`."""
    less = tuple(dict.fromkeys(words for results in everything for words in reductions(results)))
    cells = []
    for same in zip(*(beside(results, row).cells for results in everything), strict=True):
        first, values = same[0], [cell.ours for cell in same]
        error, deviation = fmean(c.standard_error for c in same), stdev(values) if len(values) > 1 else None
        cells.append(Compared(first.radius, fmean(values), error, deviation, first.paper, fmean(c.gap for c in same)))
    return RowVerdict(row, tuple(seeds), tuple(cells), less, tuple(changed), judge(everything, row, changed))
