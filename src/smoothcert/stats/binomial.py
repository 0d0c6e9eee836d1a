"""Exact binomial bounds (Clopper & Pearson 1934), rounded outward so that the promised level holds in float64."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothcert.errors import InputError

# The inverse beta function misses its target by up to 1.2e-7 relative at isolated points (SciPy 1.17, k=999,
# n=130,000), so it is asked for slightly less than α and its answer is checked with the forward function.
_MARGIN = 1 - 1e-6
_NUDGE = 1 + 1e-9


def _checked(k: ArrayLike, n: ArrayLike, alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie strictly between 0 and 1, not {alpha}")
    counts, totals = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    if counts.size and not (np.all(counts >= 0) and np.all(counts <= totals) and np.all(totals >= 1)):
        raise InputError("a binomial count must satisfy 0 <= k <= n with n >= 1")
    if counts.size and not (np.all(counts == np.floor(counts)) and np.all(totals == np.floor(totals))):
        raise InputError("a binomial count must be a whole number")
    return counts, totals


def error_bound(k: ArrayLike, n: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """q̄ = the largest q with P[Bin(n, q) ≤ k] ≥ α: the one-sided 1 − α Clopper–Pearson upper bound on q after k of n.

    Everything else here is derived from it, because small error rates keep their digits on this side:
    1 − q̄ near 1 would lose them. Promise: P_q[q̄(K) < q] ≤ α for every q, also after rounding.
    """
    from scipy.special import betaincc, betainccinv

    counts, totals = _checked(k, n, alpha)
    exact = counts == totals  # all failed: nothing below 1 can be excluded
    inner = np.where(exact, 0.0, counts)
    with np.errstate(all="ignore"):
        q = np.where(
            counts == 0,
            -np.expm1(math.log(alpha * _MARGIN) / totals),  # closed form: (1 − q)ⁿ = α
            betainccinv(inner + 1, totals - inner, alpha * _MARGIN),
        )
        for _ in range(64):
            short = ~exact & (q < 1) & ~(betaincc(inner + 1, totals - inner, q) <= alpha)
            if not short.any():
                break
            q = np.where(short, np.minimum(q * _NUDGE, 1.0), q)
        else:  # a bound that cannot be confirmed is not given
            q = np.where(short, 1.0, q)
    return np.where(exact, 1.0, np.minimum(np.nextafter(q, 1.0), 1.0))


def lower_bound(k: ArrayLike, n: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """p̲ with P_p[p̲(K) > p] ≤ α for every p: the one-sided Clopper–Pearson lower bound, rounded down.

    >>> float(lower_bound(100_000, 100_000, 0.001)) <= 0.001 ** (1 / 100_000)
    True
    """
    counts, totals = _checked(k, n, alpha)
    return np.maximum(np.nextafter(1.0 - error_bound(totals - counts, totals, alpha), 0.0), 0.0)


def least_n(alpha: float) -> int:
    """Fewest votes with which anything can be certified at level α: the least n with α^(1/n) > 1/2.

    >>> least_n(0.001)
    10
    """
    _checked(0, 1, alpha)
    n = max(1, math.floor(math.log2(1 / alpha)))
    while lower_bound(n, n, alpha) <= 0.5:
        n += 1
    return n


def top_two_p_value(first: int, second: int) -> float:
    """Two-sided binomial test of "the top two classes are equally likely" (Hung & Fithian 2019), used by PREDICT.

    >>> top_two_p_value(10, 0) == 2 * 0.5**10
    True
    """
    from scipy.special import bdtr

    if min(first, second) < 0:
        raise InputError("a vote count cannot be negative")
    low, n = min(first, second), first + second
    if n == 0 or 2 * low >= n:
        return 1.0
    return float(min(1.0, 2.0 * float(bdtr(low, n, 0.5))))
