"""A rate bounded at two looks of one sample that grows: the joint law of both counts, instead of a union."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothcert.errors import InputError
from smoothcert.stats.binomial import error_bound
from smoothcert.stats.group_sequential import binomial, window

# α is spent up to this share only: the rest pays for tails left out of sums (≤ 4e-20) and for rounding (≤ 1e-9).
_MARGIN = 1 - 1e-6


@dataclass(frozen=True)
class TwoLooks:
    """q̄₁(e) = CP(e of n₁; share · α);  q̄₂(e) = sup{q: P_q[E₁ ≤ a(q) or E₂ ≤ e] > α},  a(q) = max{e: q̄₁(e) < q}.

    Promise: P_q[q̄₁(E₁) < q or q̄₂(E₂) < q] ≤ α for every q: both bounds, and so the smaller one, hold together. The
    second look may be left out for any reason.

    Proof. Fix q. q̄₁(E₁) < q means E₁ ≤ a(q). Let e be the largest count with q̄₂(e) < q: since q̄₂ rises with its
    count, q̄₂(E₂) < q means E₂ ≤ e. As q is above the supremum that defines q̄₂(e), P_q[E₁ ≤ a(q) or E₂ ≤ e] ≤ α.
    """

    first: int
    cap: int
    share: float

    def __call__(self, k: ArrayLike, n: ArrayLike, alpha: float) -> NDArray[np.float64]:
        """The bound of the look after n votes, for counts k; n must be that of one of the two."""
        if np.all(np.asarray(n) == self.first):
            return error_bound(k, n, alpha * self.share)
        if not np.all(np.asarray(n) == self.cap):
            raise InputError(f"there may be a look after {self.first} and one after {self.cap} votes, and no other")
        counts = np.asarray(k)
        return np.array([_second(self, int(e), alpha) for e in counts.flat], np.float64).reshape(counts.shape)


@lru_cache(maxsize=2**14)
def _second(looks: TwoLooks, e: int, alpha: float) -> float:
    """q̄₂(e), by walking down the values of a(q), on each of which the probability falls as q rises.

    From CP(e of cap; (1 − share) α) on, the two looks' own probabilities add up to ≤ α; below CP(e of cap; α) that of
    the second alone is too large: so q̄₂ lies between, and whatever is not resolved is rounded up.
    """
    if e >= looks.cap:
        return 1.0
    low, high = (float(error_bound(e, looks.cap, alpha * part)) for part in (1.0, 1.0 - looks.share))
    fewest = window(looks.first, low)[0]  # q̄₁ of fewer errors is below `low`
    counts = np.arange(fewest, min(looks.first, int(looks.first * high) + 1) + 1)
    ends = error_bound(counts, looks.first, alpha * looks.share)
    inner = ends[(low < ends) & (ends < high)]  # where a(q) steps up by one
    edges = [low, *inner.tolist(), high]
    a = fewest + int((ends < high).sum()) - 1  # a(q) on the last piece, just below `high`
    for i in range(len(inner), -1, -1):
        left, right, k = edges[i], edges[i + 1], a - (len(inner) - i)
        if _within(looks, k, e, left, alpha):
            high = left
            continue
        for _ in range(60):  # the upper end is kept
            middle = (left + right) / 2
            left, right = (left, middle) if _within(looks, k, e, middle, alpha) else (middle, right)
        return right
    return high


def _within(looks: TwoLooks, a: int, e: int, q: float, alpha: float) -> bool:
    """P_q[E₁ ≤ a or E₂ ≤ e] ≤ α, E₂ = E₁ + Bin(cap − n₁, q): a sum over E₁, all of whose terms are ≥ 0."""
    low, p = binomial(looks.first, q)
    more, step = binomial(looks.cap - looks.first, q)
    first = np.arange(low, low + p.size)
    left = e - first - more  # ≥ 0: so many of the later errors may be met, counted from the fewest
    later = np.where(left < 0, 0.0, np.cumsum(step)[np.clip(left, 0, step.size - 1)])
    return float(p @ np.where(first <= a, 1.0, later)) <= alpha * _MARGIN
