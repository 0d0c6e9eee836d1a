"""The ACR on all images of a test set, estimated from a few of them and another log of all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.metrics import contributions, paired_difference, shared_images, summarize
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError

Floats = NDArray[np.float64]


def acr_by_other_logs(few: Results, *others: Results) -> tuple[float, float]:
    """The regression estimate of few's ACR on the images of `others`, and its standard error.

    An image that is hard for one classifier is hard for another: what the others have on the few images, measured
    against what they have on all, tells how hard the few are. The estimate is the line (the plane, for two) through the
    few, taken at the mean of all; its standard error is the jackknife's, for easy images scatter less than hard ones.
    """
    pairs = [_pairs(few, other, least=len(others) + 2) for other in others]
    if any(not np.array_equal(np.sort(other.index), np.sort(others[0].index)) for other in others):
        raise InputError(f"{', '.join(other.name for other in others)} hold different images")
    y = pairs[0][0]
    told = [x for _, x in pairs if np.ptp(x)]  # where the few are alike, the other log says nothing about them
    design = np.column_stack([np.ones_like(y), *told])
    solver = np.linalg.pinv(design)
    coefficients = solver @ y
    leverage = (design * solver.T).sum(1)
    moved = solver[0] * (y - design @ coefficients) / np.maximum(1 - leverage, 1e-12)  # without each image
    return float(coefficients[0]), math.sqrt(float((moved**2).sum()))


def acr_by_rough_log(few: Results, rough: Results, *others: Results) -> tuple[float, float]:
    """few's ACR on all images, by a log of all of them with fewer votes for the same smoothed classifier, and others'.

    Where most images have the largest radius in it, a fitted slope would depend on which of the others are among the
    few. The ratio of the largest radii depends on no image: the estimate is unbiased for few at random. Else all
    logs are fitted: the others' say more where many images have the largest radius in the rough one.
    """
    corrected = _corrected(few, rough)
    saturated = rough.radius >= 0.999 * (summarize(rough, []).largest_radius or 0.0)
    return _mean(corrected) if saturated.mean() > 0.5 else acr_by_other_logs(few, rough, *others)


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
    if rough.header.data is None or rough.header.data.images != len(rough):
        raise InputError(f"{rough.name}: is not of all images")
    y, x = _pairs(few, rough)
    return y - most / roughly_most * x


def _mean(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _pairs(few: Results, everything: Results, least: int = 3) -> tuple[Floats, Floats]:
    """y: what the few images contribute to the ACR; x: what they do in `everything`, above its mean; by index."""
    if any(r.header.grid is not None for r in (few, everything)):
        raise InputError("a log of `curve` holds radii rounded down to a grid: it has no ACR to estimate")
    if not np.isin(few.index, everything.index).all():
        raise InputError(f"{everything.name} lacks images of {few.name}")
    mine, theirs = shared_images(few, everything, least=least)
    known = contributions(everything)
    return contributions(few)[mine], known[theirs] - known.mean()
