"""Our numbers, over seeds, beside a printed row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from smoothcert.analysis import Results
from smoothcert.analysis.beside_paper import beside, reductions, tolerance
from smoothcert.paper import Row

REDUCED, CHANGED, UNFINISHED, AGREES, DIFFERS = "reduced run", "changed recipe", "unfinished", "agrees", "differs"


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
    verdict: str


@dataclass(frozen=True)
class RowVerdict:
    """All cells of one printed row, and the verdict of its ACR."""

    row: Row
    seeds: tuple[int, ...]
    cells: tuple[Compared, ...]
    reductions: tuple[str, ...]
    changed: tuple[str, ...]
    """settings that are not the row's"""
    verdict: str


def compare(row: Row, everything: Sequence[Results], seeds: Sequence[int], changed: Sequence[str] = ()) -> RowVerdict:
    """A cell agrees when |gap| ≤ `tolerance`, else it differs; the row's verdict is that of its ACR.

    None is given on a run that did less than the paper, is not finished, or has other settings.
    """
    less = tuple(dict.fromkeys(words for results in everything for words in reductions(results)))
    unfinished = any(len(results) < (results.about.get("selected") or 0) for results in everything)
    barred = REDUCED if less else UNFINISHED if unfinished else CHANGED if changed else None
    found = [beside(results, row).cells for results in everything]
    cells = []
    for same in zip(*found, strict=True):
        first, values = same[0], [cell.ours for cell in same]
        error, deviation = fmean(c.standard_error for c in same), stdev(values) if len(values) > 1 else None
        gap = fmean(c.gap for c in same)
        verdict = barred or (AGREES if abs(gap) <= tolerance(row, first.radius, error, deviation) else DIFFERS)
        cells.append(Compared(first.radius, fmean(values), error, deviation, first.paper, gap, verdict))
    return RowVerdict(row, tuple(seeds), tuple(cells), less, tuple(changed), cells[0].verdict)
