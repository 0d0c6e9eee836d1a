"""Our numbers beside the printed ones: which row they belong to, how far apart they are, and what the gap means."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from smoothcert.analysis.metrics import certified_accuracy, grid_of, summarize
from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import Setting, recipe_setting, setting_of
from smoothcert.paper import Row, rows
from smoothcert.recipes import find, to_dict

VOTES = 100_000
IMAGES = {"mnist": 10_000, "cifar10": 10_000, "imagenet": 500}
EPOCHS = {"mnist": 90, "cifar10": 150, "imagenet": 90}


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
    verdict: str
    """agrees, differs, or reduced: no verdict, for less was done than for the printed row"""


def rows_for(results: Results) -> tuple[Row, ...]:
    """The printed rows whose recipe has this log's data set, network, method, σ, λ and m; none where one is unknown.

    A TSV log that does not state m or η is taken to have the row's.
    """
    s = replace(setting_of(results), run=None)

    def fits(r: Setting) -> bool:
        return s == replace(r, m=s.m and r.m, eta=None if s.eta is None else r.eta)

    return tuple(row for row in rows() if any(map(fits, _settings(row))))


@cache
def _settings(row: Row) -> tuple[Setting, ...]:
    return tuple(recipe_setting(to_dict(find(name)), row.sigma) for name in row.recipes)


def reductions(results: Results) -> list[str]:
    """In what this certification did less than the paper: a number with any of these is marked as reduced."""
    about, found = results.about, []
    dataset = setting_of(results).dataset or ""
    recipe = about.get("recipe") if isinstance(about.get("recipe"), dict) else {}
    epochs, stated = (recipe or {}).get("epochs"), (recipe or {}).get("reduced")
    if isinstance(stated, str):  # how `--scale` marks a recipe; it names the epochs
        found.append(stated)
    elif isinstance(epochs, int) and epochs < EPOCHS.get(dataset, 0):
        found.append(f"{epochs} of {EPOCHS[dataset]} epochs")
    data = about.get("data")
    whole = IMAGES.get(dataset) or (data.get("images") if isinstance(data, dict) else None)
    asked = about.get("selected") or len(results)
    if isinstance(whole, int) and asked < whole:
        found.append(f"{asked:,} of {whole:,} test images")
    n = about.get("n")
    if isinstance(n, int) and n < VOTES:
        found.append(f"{n:,} of {VOTES:,} votes")
    return found


def rounded_as_printed(results: Results) -> Results:
    """Radii to three significant digits, to nearest: no certificate any more, but what the printed numbers rest on."""
    return replace(results, radius=np.array([float(f"{r:.3}") for r in results.radius], np.float64))


def beside(results: Results, row: Row) -> BesidePaper:
    """Our cells beside those of `row`; the verdict is that of the ACR, by `tolerance`."""
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
    acr = cells[0] if cells and cells[0].radius is None else None
    return BesidePaper(row, tuple(cells), _verdict(results, acr, row))


def _verdict(results: Results, acr: Cell | None, row: Row) -> str:
    if acr is None or reductions(results) or len(results) < (results.about.get("selected") or 0):
        return "reduced"
    return "agrees" if abs(acr.gap) <= tolerance(row, None, acr.standard_error) else "differs"


def tolerance(row: Row, radius: float | None, error: float, deviation: float | None = None) -> float:
    """A cell agrees when |gap| ≤ 3 √(s.e.² + s.d.²) + half a unit of the last printed digit; radius None is the ACR.

    s.e. is over images and s.d. over our seeds, with the paper's own where it prints one. Three, not two: a table is
    a hundred cells. ImageNet's accuracies are cut off, not rounded, so there it is a whole unit.
    """
    if radius is None:
        theirs, rounding = row.acr_sd or 0.0, 0.5 * 10 ** -(3 if row.acr_sd is None else 4)
    else:
        theirs, rounding = 0.0, 0.05 if row.digits else 1.0
    return 3 * math.sqrt(error**2 + (deviation or 0.0) ** 2 + theirs**2) + rounding
