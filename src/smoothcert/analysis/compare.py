"""Two certifications on the same images, image by image: pairing removes what the images share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.metrics import certified_accuracy, contributions, default_radii, shared_images, summarize
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError

_RESAMPLES = 2000


@dataclass(frozen=True)
class AcrDifference:
    """ACR(one) − ACR(other), with two intervals that should agree unless the images are few."""

    one: float
    other: float
    difference: float
    standard_error: float
    t_interval: tuple[float, float]
    """mean ± t₍ₙ₋₁₎ · s.e. of the paired differences"""
    bootstrap_interval: tuple[float, float]
    """percentiles over images drawn with replacement"""


@dataclass(frozen=True)
class AccuracyDifference:
    """CA(one) − CA(other) at a radius; only the images that one of them certifies tell them apart."""

    radius: float
    one: float
    other: float
    only_one: int
    only_other: int
    difference: float
    interval: tuple[float, float]
    """Bonett & Price (2012): the paired Wald interval after adding one image to each kind of disagreement"""
    p_value: float
    """exact McNemar test: a fair coin decides each disagreement"""


@dataclass(frozen=True)
class Comparison:
    """What two logs say about the images both have."""

    one: str
    other: str
    images: int
    confidence: float
    acr: AcrDifference | None
    """None where a log knows radii only on a grid, so that their mean says nothing"""
    accuracy: tuple[AccuracyDifference, ...]
    notes: tuple[str, ...]


def compare(
    one: Results, other: Results, radii: Sequence[float] | None = None, confidence: float = 0.95, seed: int = 0
) -> Comparison:
    """Refuses logs of different data sets, labels or norms: their differences would mean nothing."""
    if not 0 < confidence < 1:
        raise InputError(f"--confidence must lie strictly between 0 and 1, not {confidence}")
    _same_question(one, other)
    mine, theirs = shared_images(one, other)
    a, b = subset(one, mine), subset(other, theirs)
    chosen = _known(a, b, list(radii) if radii is not None else default_radii([a, b]), strict=radii is not None)
    return Comparison(
        one.name,
        other.name,
        len(mine),
        confidence,
        _acr(a, b, confidence, seed),
        tuple(_accuracy(a, b, r, confidence) for r in chosen),
        tuple(_notes(one, other, len(mine))),
    )


def subset(results: Results, chosen: NDArray[np.int64]) -> Results:
    """The same log with these rows only; the votes are left behind."""
    columns = {c: getattr(results, c)[chosen] for c in ("index", "label", "predict", "radius", "correct")}
    return replace(results, **columns, seconds=None, estimation=None)


def _same_question(one: Results, other: Results) -> None:
    a, b, both = one.header, other.header, f"{one.name} and {other.name}"
    if a.data and b.data and replace(a.data, images=b.data.images) != b.data:
        names = " and ".join(f"{data.name} {data.split}" for data in (a.data, b.data))
        raise InputError(f"{both} are of different data ({names}): there is nothing to pair")
    if a.bound != b.bound:
        raise InputError(f"{both} use different bounds (single and pair): not comparable")
    if a.norm != b.norm:
        raise InputError(f"{both} certify in different norms: their radii cannot be compared")
    if a.precision != b.precision:
        raise InputError(f"{both} are of votes in {a.precision} and in {b.precision}: not comparable")


def _known(a: Results, b: Results, radii: list[float], strict: bool) -> list[float]:
    """Those radii about which both logs have decided: a `curve` log asked about those of its grid only."""
    grids = [grid for r in (a, b) if (grid := r.header.grid) is not None]
    unknown = [r for r in radii if any(r not in grid for grid in grids)]
    if unknown and strict:
        raise InputError(f"radius {unknown[0]:g} is not on the grid of a `curve` log: choose among its radii")
    return [r for r in radii if r not in unknown]


def _acr(a: Results, b: Results, confidence: float, seed: int) -> AcrDifference | None:
    from scipy.special import stdtrit

    means = [summarize(r, []).acr for r in (a, b)]
    if means[0] is None or means[1] is None:
        return None
    gaps = contributions(a) - contributions(b)
    mean, error = float(gaps.mean()), float(gaps.std(ddof=1) / math.sqrt(len(gaps)))
    reach = float(stdtrit(len(gaps) - 1, 0.5 + confidence / 2)) * error
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(_resampled_means(gaps, seed), tails)
    return AcrDifference(means[0], means[1], mean, error, (mean - reach, mean + reach), (float(low), float(high)))


def _resampled_means(gaps: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    at_once = max(1, 2**20 // len(gaps))  # 8 MB of indices
    means = []
    for start in range(0, _RESAMPLES, at_once):
        draws = rng.integers(len(gaps), size=(min(at_once, _RESAMPLES - start), len(gaps)), dtype=np.int32)
        means.append(gaps[draws].mean(1))
    return np.concatenate(means)


def _accuracy(a: Results, b: Results, radius: float, confidence: float) -> AccuracyDifference:
    from scipy.special import bdtr, ndtri

    holds = [(r.predict != -1) & r.correct & (r.radius >= radius) for r in (a, b)]
    n, only_one, only_other = len(a), int((holds[0] & ~holds[1]).sum()), int((holds[1] & ~holds[0]).sum())
    p, q = (only_one + 1) / (n + 2), (only_other + 1) / (n + 2)
    reach = float(ndtri(0.5 + confidence / 2)) * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    p_value = min(1.0, 2 * float(bdtr(min(only_one, only_other), only_one + only_other, 0.5)))
    return AccuracyDifference(
        radius,
        float(certified_accuracy(a, [radius])[0]),
        float(certified_accuracy(b, [radius])[0]),
        only_one,
        only_other,
        (only_one - only_other) / n,
        (max(-1.0, p - q - reach), min(1.0, p - q + reach)),
        p_value,
    )


def _notes(one: Results, other: Results, shared: int) -> list[str]:
    """What a reader must know before believing the difference."""
    notes = []
    for r in (one, other):
        if len(r) > shared:
            notes.append(f"{len(r) - shared:,} images of {r.name} are not in the other log and were left out")
        if not r.header.stated:
            notes.append(f"{r.name} is a TSV log: n and α are not stated, and its radii may have been rounded up")
    for key, word in (("n", "n"), ("alpha", "α")):
        values = [getattr(r.header, key) for r in (one, other)]
        if None not in values and values[0] != values[1]:
            notes.append(f"the logs have different {word} ({values[0]:,} and {values[1]:,}): part of the difference")
    return notes
