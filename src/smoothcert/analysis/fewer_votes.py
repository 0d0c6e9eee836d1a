"""What a log of n votes an image would hold with fewer of them: logs of different n can then be compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc, gammaln, ndtr, ndtri

from smoothcert.errors import InputError
from smoothcert.stats import error_bound

Floats = NDArray[np.float64]


def with_fewer_votes(radius: Floats, sigma: float, n: int, fewer: int, alpha: float = 0.001) -> Floats:
    """E[R(J′)],  J′ the votes against the class among `fewer` drawn from all n,  J of n recovered from R(J) = radius.

    R is CERTIFY's radius under Gaussian noise. 0 stays 0: a wrong or abstained image, whose votes cannot be told.
    Three digits of a published radius leave J uncertain by about what they leave the radius.
    """
    if not 0 < fewer <= n:
        raise InputError(f"of {n:,} votes {fewer:,} cannot be drawn")
    against = _against(radius, sigma, n, alpha)
    radii = np.maximum(0.0, -sigma * ndtri(error_bound(np.arange(fewer + 1), fewer, alpha)))
    found = np.zeros(len(radius))
    for count in np.unique(against[radius > 0]):
        chances = _chances(int(count), n, fewer)
        found[(against == count) & (radius > 0)] = chances @ radii[: len(chances)]
    return found


def _against(radius: Floats, sigma: float, n: int, alpha: float) -> NDArray[np.int64]:
    """The J nearest to P[Bin(n, q) ≤ J] = α,  q = Φ(−R/σ), by bisection."""
    q = ndtr(-radius / sigma)
    low, high = np.zeros(len(radius)), np.full(len(radius), float(n - 1))
    for _ in range(60):
        middle = (low + high) / 2
        enough = betaincc(middle + 1, n - middle, q) >= alpha
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.rint(high).astype(np.int64)


def _chances(against: int, n: int, fewer: int) -> Floats:
    """P[J′ = 0, 1, …] of the hypergeometric law: J′ of the `against` are among `fewer` drawn from n."""
    j = np.arange(min(against, fewer) + 1)
    others = n - against - (fewer - j)
    logs = _log_choose(against, j) + _log_choose(n - against, fewer - j) - _log_choose(n, fewer)
    return np.where(others >= 0, np.exp(np.where(others >= 0, logs, 0.0)), 0.0)


def _log_choose(n: int, k: NDArray[np.int64] | int) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(np.add(k, 1.0)) - gammaln(np.subtract(n + 1.0, k)))
