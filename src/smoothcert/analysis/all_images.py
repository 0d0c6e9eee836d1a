"""The ACR on all images of a test set, estimated from a few of them and somebody's log of all."""

from __future__ import annotations

import math

import numpy as np

from smoothcert.analysis.metrics import contributions, grid_of
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError


def acr_on_all_images(few: Results, everything: Results) -> tuple[float, float]:
    """The regression estimate of few's ACR on the images of `everything`, and its standard error.

    An image that is hard for one classifier is hard for another: what `everything` has on the few images, measured
    against what it has on all, tells how hard the few are. The standard error is that of the
    line through the few, taken at the mean of all.
    """
    if any(grid_of(r) is not None for r in (few, everything)):
        raise InputError("a log of `curve` holds radii rounded down to a grid: it has no ACR to estimate")
    shared, mine, theirs = np.intersect1d(few.index, everything.index, assume_unique=True, return_indices=True)
    if len(shared) < max(len(few), 3):
        raise InputError(f"{everything.name} lacks images of {few.name}, or these are fewer than three")
    if not np.array_equal(few.label[mine], everything.label[theirs]):
        raise InputError(f"{few.name} and {everything.name} give different labels to the same image: other data sets?")
    y, known = contributions(few)[mine], contributions(everything)
    x = known[theirs] - known.mean()
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread else 0.0
    residuals = y - y.mean() - slope * (x - x.mean())
    error = math.sqrt(float((residuals**2).sum()) / (len(y) - 2) * (1 / len(y) + x.mean() ** 2 / (spread or math.inf)))
    return float(y.mean() - slope * x.mean()), error
