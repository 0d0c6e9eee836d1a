"""What a check is: a statistic whose law is known if all is well, and the p-value it gives."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc, ndtr

FALSE_ALARM = 1e-6  # of a whole self-test, whatever the number of its checks

Array = NDArray[np.float64]


class Check(NamedTuple):
    """`statistic` says in words and numbers what was seen."""

    noise: str
    name: str
    statistic: str
    p_value: float


def normal_p_value(z: float, tests: int = 1) -> float:
    """2 Φ(−|z|), by Bonferroni for the largest of several."""
    return min(1.0, 2.0 * tests * float(ndtr(-abs(z))))


def kolmogorov_p_value(u: Array) -> tuple[float, float]:
    """D = sup |F_N(t) − t| of numbers that should be uniform on [0, 1], and P[D or more]."""
    from scipy.stats import kstwo

    u, n = np.sort(u.ravel()), u.size
    d = max(float((np.arange(1, n + 1) / n - u).max()), float((u - np.arange(n) / n).max()))
    return d, float(kstwo.sf(d, n))


def largest_cosine(rows: Array) -> tuple[float, float]:
    """max |cos| over all pairs of rows of independent normals, and its p-value: cos² ~ Beta(½, (d − 1)/2).

    A row that comes twice has cosine 1, however many rows there are.
    """
    v, d = rows.shape
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    largest = 0.0
    for start in range(0, v, 512):
        cosines = np.abs(unit[start : start + 512] @ unit[start:].T)
        np.fill_diagonal(cosines, 0.0)
        largest = max(largest, float(cosines.max()))
    tail = float(betaincc(0.5, (d - 1) / 2, min(1.0, largest**2)))
    return largest, min(1.0, math.comb(v, 2) * tail)
