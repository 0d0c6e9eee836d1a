"""Does a run reproduce a printed row? The one rule of `report`, `reproduce` and results/."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from smoothcert.analysis.metrics import contributions
from smoothcert.analysis.reduction import is_reduced_run, paper_images
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError
from smoothcert.paper import Row, published, rows
from smoothcert.procedures.bound import SINGLE
from smoothcert.procedures.fixed import Fixed
from smoothcert.recipes import Certification, find_recipe, real_name

AGREES, DIFFERS, INCONCLUSIVE = "agrees", "differs", "inconclusive"
REDUCED, UNFINISHED, CHANGED = "reduced run", "unfinished", "changed recipe"
OTHER, NO_ACR = "other procedure", "no ACR"
MARGIN = 0.01
"""of the printed ACR: what is called equal"""
FEWEST = 100
"""images; with fewer, hard ones may be missing altogether, and then the interval is far too short"""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Verdict:
    """ACR(ours) − ACR(theirs), its 95 % interval, and the word for it."""

    word: str
    """agrees, differs or inconclusive; else why the run is not judged"""
    difference: float
    interval: tuple[float, float]
    standard_error: float
    theirs: float
    """the authors' ACR on our images where `paired`, else the printed one"""
    images: int
    seeds: int
    """trainings of ours"""
    paired: bool
    """image by image with the authors' own log; where they published none, with the printed ACR"""


def judge(everything: Sequence[Results], row: Row, changed: Sequence[str] = ()) -> Verdict:
    """agrees: interval within ±1 % of the printed ACR; differs: not so, and 0 is outside; else inconclusive.

    difference ± t₍ₙ₋₁₎ · s.e. is about the ACR on all N images of the printed row, for other trainings by the same two
    recipes: s.e.² = s² (1/n − 1/N) + d₁²/k + d₂²/k′. s is the standard deviation over our n images of ours − theirs
    (unpaired: of ours); d₂ is that of the ACR over trainings, of which they have k′ and we k: as table 7 prints it for
    the recipe, elsewhere table 7's usual share of the ACR. d₁ is ours where it is larger.

    Radii are rounded as in the authors' logs. `everything`: one log per training. A run of fewer epochs or votes, of
    changed settings or of another procedure, or one that is not finished, gets no verdict, but its numbers.

    How often it errs, with each of the authors' five trainings in turn as ours (45 trainings, the other four as
    theirs): on every 100th image "differs" 4.0 % of the time and "agrees" 54 %, on every 10th 0.2 % and 99.8 %, on all
    never and always. With another method's row at the same σ (90 comparisons) "agrees": where the methods truly differ
    by more than 1 %, 0.2 % of the time on every 100th image, at most 1 % in any cell, and never on every 10th or on
    all; where they differ by less (Gaussian and Stability: 0.5 to 1 %), 9, 33 and 37 %, which is true.
    """
    if any(results.header.grid is not None for results in everything):
        nan = math.nan
        return Verdict(NO_ACR, nan, (nan, nan), nan, nan, len(everything[0]), len(everything), False)
    index, label, ours = _mean_over_seeds([rounded_as_printed(results) for results in everything])
    theirs, trained, paired = _theirs(row, index, label)
    gaps = ours - theirs
    n, k, whole = len(gaps), len(everything), paper_images(find_recipe(row.recipes[0]).data) or math.inf
    deviation = _deviation(row)
    own = stdev(float(contributions(results).mean()) for results in everything) if k > 1 else 0.0
    over_images = float(gaps.var(ddof=1)) * abs(1 / n - 1 / whole) if n > 1 else math.inf
    error = math.sqrt(over_images + max(deviation, own) ** 2 / k + deviation**2 / trained)
    difference, reach = float(gaps.mean()), float(stdtrit(max(n - 1, 1), 0.975)) * error
    interval = difference - reach, difference + reach
    word = _barred(everything, changed) or _word(interval, MARGIN * row.acr, n)
    return Verdict(word, difference, interval, error, float(np.mean(theirs)), n, k, paired)


def rounded_as_printed(results: Results) -> Results:
    """Radii to three significant digits, to nearest: no certificate any more, but what the printed numbers rest on."""
    return replace(results, radius=np.array([float(f"{r:.3}") for r in results.radius], np.float64))


def _word(interval: tuple[float, float], margin: float, images: int) -> str:
    low, high = interval
    if images < FEWEST:
        return INCONCLUSIVE
    if -margin <= low and high <= margin:
        return AGREES
    return DIFFERS if low > 0 or high < 0 else INCONCLUSIVE


def _barred(everything: Sequence[Results], changed: Sequence[str]) -> str | None:
    """Why there is no verdict. What a TSV log does not say is taken to be as in the paper."""
    if any(is_reduced_run(results) for results in everything):
        return REDUCED
    if any(len(results) < (results.header.selected or 0) for results in everything):
        return UNFINISHED
    if changed:
        return CHANGED
    procedures = [p for results in everything if (p := results.header.procedure) is not None]
    same = all(isinstance(p, Fixed) and (p.bound, p.alpha) == (SINGLE, Certification.alpha) for p in procedures)
    return None if same else OTHER


def _mean_over_seeds(everything: Sequence[Results]) -> tuple[Ints, Ints, Floats]:
    """Index, label and mean contribution of the images that all have."""
    index = reduce(np.intersect1d, (results.index for results in everything))
    if not len(index):
        raise InputError(f"{everything[0].name}: its seeds have certified no image in common")
    places = [np.argsort(results.index)[np.searchsorted(np.sort(results.index), index)] for results in everything]
    each = [contributions(results)[at] for results, at in zip(everything, places, strict=True)]
    return index, everything[0].label[places[0]], np.mean(each, axis=0)


def _theirs(row: Row, index: Ints, label: Ints) -> tuple[Floats | float, int, bool]:
    """The authors' contribution of each image (paired) or else the printed ACR; their trainings; whether paired."""
    log = next((log for name in row.recipes if (log := published(real_name(name))) is not None), None)
    if log is not None and np.isin(index, log.index).all():
        at = np.searchsorted(log.index, index)
        if np.array_equal(log.label[at], label):
            return log.contribution[at], log.seeds, True
    return row.acr, 1 if row.acr_sd is None else 5, False


@cache
def _deviation(row: Row) -> float:
    """Of the ACR over trainings: table 7's for the recipe, elsewhere the root mean square of its shares of the ACR.

    That is 0.15 %, from MNIST; the paper prints none for other data sets.
    """
    names = {real_name(name) for name in row.recipes}
    printed = [(five, five.acr_sd) for five in rows(7) if five.acr_sd is not None]
    for five, deviation in printed:
        if names & {real_name(name) for name in five.recipes}:
            return deviation
    return row.acr * math.sqrt(fmean((deviation / five.acr) ** 2 for five, deviation in printed))
