"""The two-sided bound: how sure is the first class, and how weak is the second."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothcert.stats.binomial import error_bound

ErrorBound = Callable[[ArrayLike, ArrayLike, float], NDArray[np.float64]]
"""(errors, n, α) → q̄ with P[q̄ < q] ≤ α"""
TOP_SHARE = 0.9  # of α for the top class: nearly all of it, the second class needs little


class PairBound(NamedTuple):
    """1 − p̲1 and p̄2: kept on the error side, where p̲1 near 1 still has all its digits."""

    error: NDArray[np.float64]  # ≥ 1 − p_A
    runner_up: NDArray[np.float64]  # ≥ p_c for every class c ≠ A, and ≤ error

    def tighten(self, other: PairBound) -> PairBound:
        """The better of both, side by side: allowed when the two hold simultaneously (see `pair_bound`)."""
        return PairBound(np.minimum(self.error, other.error), np.minimum(self.runner_up, other.runner_up))


def pair_bound(
    errors: ArrayLike, runner_up: ArrayLike, n: ArrayLike, alpha: float, bound: ErrorBound = error_bound
) -> PairBound:
    """p̲1 = CP⁻(n_A; 0.9 α),  p̄2 = min(max_{c≠A} CP⁺(n_c; 0.1 α), 1 − p̲1)   [for eq. 3 of Cohen et al. 2019].

    errors: votes not for the class A, which must have been fixed without these votes; runner_up: the most that any
    other class has.

    Promise: with probability ≥ 1 − α, both p_A ≥ p̲1 and p_c ≤ p̄2 for all c ≠ A; no union over classes.

    Proof. The true runner-up c* = argmax_{c≠A} p_c is one fixed class, though an unknown one. CP⁺ rises with
    the count, so max_c CP⁺(n_c) ≥ CP⁺(n_{c*}), which is ≥ p_{c*} except with probability 0.1 α; and p_{c*}
    bounds all the others. p̲1 fails with probability ≤ 0.9 α, and where it does not, p_c ≤ 1 − p_A ≤ 1 − p̲1.
    With K = 2 the second class is the error of the first and p̄2 = 1 − p̲1: use the single bound there.

    In sequence: give preset looks levels α_k with Σ α_k ≤ α, or give `bound=anytime_bound` and α itself. The
    proof goes through with "at every look" (c* does not change with time), so the bounds of all looks hold
    together with probability ≥ 1 − α, and `tighten` may carry the best of each side forward.
    """
    error = bound(errors, n, alpha * TOP_SHARE)
    return PairBound(error, np.minimum(bound(runner_up, n, alpha * (1.0 - TOP_SHARE)), error))
