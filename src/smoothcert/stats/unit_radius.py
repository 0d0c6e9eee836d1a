"""The radius that a few votes show, for those who weigh images by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothcert.stats.binomial import lower_bound


def unit_radius(k: ArrayLike, n: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """Φ⁻¹(p̲): the radius under Gaussian noise of σ = 1 that k of n votes show at level α; negative where p̲ < ½.

    Finite unless k = 0, for p̲ ≤ α^(1/n) < 1.

    >>> float(unit_radius(16, 16, 0.1).round(4))
    1.1075
    """
    from scipy.special import ndtri

    radius: NDArray[np.float64] = ndtri(lower_bound(k, n, alpha))
    return radius
