"""The ACR on all images of a test set, estimated from a few of them and another log of all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.metrics import contributions, paired_difference, shared_images, summarize
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError

Floats = NDArray[np.float64]


def acr_by_anothers_log(few: Results, everything: Results) -> tuple[float, float]:
    """The regression estimate of few's ACR on the images of `everything`, and its standard error.

    An image that is hard for one classifier is hard for another: what `everything` has on the few images, measured
    against what it has on all, tells how hard the few are. The standard error is that of the line through the few,
    taken at the mean of all.
    """
    y, x = _pairs(few, everything)
    spread = float(((x - x.mean()) ** 2).sum()) if np.ptp(x) else 0.0  # rounding would give equal numbers 1e-32
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread else 0.0
    residuals = y - y.mean() - slope * (x - x.mean())
    error = math.sqrt(float((residuals**2).sum()) / (len(y) - 2) * (1 / len(y) + x.mean() ** 2 / (spread or math.inf)))
    return float(y.mean() - slope * x.mean()), error


def acr_by_rough_log(few: Results, rough: Results) -> tuple[float, float]:
    """few's ACR on all images, by a log of all of them with fewer votes for the same smoothed classifier.

    Where most images have the largest radius in it, a fitted slope would depend on which of the others are among the
    few. The ratio of the largest radii depends on no image: the estimate is unbiased for few at random. Else the line
    is fitted, as through another's log.
    """
    corrected = _corrected(few, rough)
    saturated = rough.radius >= 0.999 * (summarize(rough, []).largest_radius or 0.0)
    return _mean(corrected) if saturated.mean() > 0.5 else acr_by_anothers_log(few, rough)


def difference_by_rough_logs(
    one: Results, rough_one: Results, other: Results, rough_other: Results
) -> tuple[float, float]:
    """The same for ACR(one) − ACR(other), image by image."""
    paired_difference(one, other)  # refuses what cannot be compared
    if not np.array_equal(np.sort(one.index), np.sort(other.index)):
        raise InputError(f"{one.name} and {other.name} have certified different images")
    return _mean(_corrected(one, rough_one) - _corrected(other, rough_other))


def _corrected(few: Results, rough: Results) -> Floats:
    """What each of the few contributes to the ACR, less what it has in the rough log above the mean of all."""
    for key in ("model", "noise", "bound"):
        said = getattr(few.header, key)
        if said is None or said != getattr(rough.header, key):
            raise InputError(f"{few.name} and {rough.name} do not name the same {key}")
    most, roughly_most = (summarize(results, []).largest_radius for results in (few, rough))
    if not most or not roughly_most:
        raise InputError(f"{few.name} or {rough.name} does not say n and alpha")
    if rough.header.selected != len(rough):
        raise InputError(f"{rough.name}: not finished")
    y, x = _pairs(few, rough)
    return y - most / roughly_most * x


def _mean(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _pairs(few: Results, everything: Results) -> tuple[Floats, Floats]:
    """y: what the few images contribute to the ACR; x: what they do in `everything`, above its mean; by index."""
    if any(r.header.grid is not None for r in (few, everything)):
        raise InputError("a log of `curve` holds radii rounded down to a grid: it has no ACR to estimate")
    if not np.isin(few.index, everything.index).all():
        raise InputError(f"{everything.name} lacks images of {few.name}")
    mine, theirs = shared_images(few, everything, least=3)
    known = contributions(everything)
    return contributions(few)[mine], known[theirs] - known.mean()
