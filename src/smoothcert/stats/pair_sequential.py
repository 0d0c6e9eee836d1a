"""The pair bound at many looks: α is spent look by look, so that one may stop at any of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothcert.stats.binomial import lower_bound
from smoothcert.stats.pair import PairBound, pair_bound

_MARGIN = 1 - 1e-9  # for the rounding of sums of levels
_DOUBT = 0.01  # level of the optimism with which an image is given up


def levels(looks: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """α_k = α (√(n_k/N) − √(n_{k−1}/N)) for looks after n_1 < … < n_K = N votes: Σ α_k = α.

    Promise: with probability ≥ 1 − α the pair bounds of *all* looks hold, at whichever one stops, and so does the
    tightest of each side up to now. Proof: look k fails with probability ≤ α_k (`pair_bound`), the looks are preset,
    and Σ α_k ≤ α.
    """
    n = np.asarray(looks, np.float64)
    return alpha * _MARGIN * np.diff(np.sqrt(n / n[-1]), prepend=0.0)


def pair_z(bound: PairBound) -> NDArray[np.float64]:
    """(Φ⁻¹(p̲1) − Φ⁻¹(p̄2)) / 2: the certified radius in units of σ."""
    from scipy.special import ndtri

    return np.asarray((-ndtri(bound.error) - ndtri(bound.runner_up)) / 2)


@lru_cache(maxsize=2**14)
def pair_at(n: int, level: float, errors: int, runner_up: int) -> PairBound:
    """`pair_bound` for one look of one image, remembered: every later look asks for it again."""
    return pair_bound(errors, runner_up, n, level)


@lru_cache(maxsize=2**12)
def hopeless(n: int, cap: int, level: float, errors: int, runner_up: int, z: float) -> bool:
    """Whether z is out of reach at `cap` votes, should the shares stay as they are or improve as far as one may doubt.

    `level` is that of the look at `cap`. A rule for stopping: it takes chances to certify away and so cannot make a
    certificate wrong.
    """
    if n >= cap:
        return True
    scaled = [round(count * cap / n) for count in (errors, runner_up)]
    at_cap = pair_z(pair_bound(scaled[0], scaled[1], cap, level))
    best = PairBound(lower_bound(errors, n, _DOUBT), lower_bound(runner_up, n, _DOUBT))
    if best.runner_up <= 0:  # nothing is known against it yet
        return False
    now = PairBound(np.asarray(errors / n), np.asarray(runner_up / n))
    if errors == n:
        return bool(pair_z(best) < z)
    hope = (pair_z(best) - pair_z(now)) * np.sqrt(1 - n / cap)
    return bool(at_cap + hope < z)
