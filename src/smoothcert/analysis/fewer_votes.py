"""What a log of n votes an image would hold with fewer of them: logs of different n can then be compared."""

from __future__ import annotations

from collections.abc import Sequence

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
    return _mean_over_draws(radius, sigma, n, fewer, alpha, _radii(sigma, fewer, alpha)[:, None])[:, 0]


def certified_with_fewer_votes(
    radius: Floats, sigma: float, n: int, fewer: int, at: Sequence[float], alpha: float = 0.001
) -> Floats:
    """P[R(J′) ≥ r, and no abstention] of each image and each r in `at`, J′ as above: (images, radii).

    Its mean over images is the certified accuracy to expect with `fewer` votes; the mean radius does not tell it.
    """
    radii = _radii(sigma, fewer, alpha)
    holds = (radii[:, None] > 0) & (radii[:, None] >= np.asarray(at, np.float64))
    return _mean_over_draws(radius, sigma, n, fewer, alpha, holds.astype(np.float64))


def votes_against(radius: Floats, sigma: float, n: int, alpha: float = 0.001) -> NDArray[np.int64]:
    """The J nearest to P[Bin(n, q) ≤ J] = α,  q = Φ(−R/σ), by bisection: how many of n votes were not for the class."""
    q = ndtr(-radius / sigma)
    low, high = np.zeros(len(radius)), np.full(len(radius), float(n - 1))
    for _ in range(60):
        middle = (low + high) / 2
        enough = betaincc(middle + 1, n - middle, q) >= alpha
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.rint(high).astype(np.int64)


def _radii(sigma: float, n: int, alpha: float) -> Floats:
    """R(J) of J = 0, 1, …, n votes against the class; 0 where CERTIFY abstains."""
    return np.maximum(0.0, -sigma * ndtri(error_bound(np.arange(n + 1), n, alpha)))


def _mean_over_draws(radius: Floats, sigma: float, n: int, fewer: int, alpha: float, values: Floats) -> Floats:
    """E[values[J′]] of each image; 0 for those of radius 0."""
    if not 0 < fewer <= n:
        raise InputError(f"of {n:,} votes {fewer:,} cannot be drawn")
    against = votes_against(radius, sigma, n, alpha)
    found = np.zeros((len(radius), values.shape[1]))
    for count in np.unique(against[radius > 0]):
        chances = _chances(int(count), n, fewer)
        found[(against == count) & (radius > 0)] = chances @ values[: len(chances)]
    return found


def _chances(against: int, n: int, fewer: int) -> Floats:
    """P[J′ = 0, 1, …] of the hypergeometric law: J′ of the `against` are among `fewer` drawn from n."""
    j = np.arange(min(against, fewer) + 1)
    others = n - against - (fewer - j)
    logs = _log_choose(against, j) + _log_choose(n - against, fewer - j) - _log_choose(n, fewer)
    return np.where(others >= 0, np.exp(np.where(others >= 0, logs, 0.0)), 0.0)


def _log_choose(n: int, k: NDArray[np.int64] | int) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(np.add(k, 1.0)) - gammaln(np.subtract(n + 1.0, k)))
