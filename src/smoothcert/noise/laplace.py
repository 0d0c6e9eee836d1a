"""Laplace noise for ℓ₁ certificates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from smoothcert.noise.base import require_positive

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Laplace:
    """δ_j ~ Laplace(b) certifies the ℓ₁ ball of radius −b log(2(1 − p_A))   [Teng et al. 2020, Thm 1].

    Args:
        b: scale b of each coordinate, its mean deviation, in units of the image range [0, 1]

    Example:
        >>> round(Laplace(0.5).radius(0.99), 3)
        1.956
    """

    b: float
    norm: ClassVar[float] = 1

    def __post_init__(self) -> None:
        require_positive("b", self.b)

    @property
    def scale(self) -> float:
        """The law's only parameter, b."""
        return self.b

    @property
    def marginal(self) -> Any:
        """The law of one coordinate as a frozen SciPy distribution."""
        from scipy import stats

        return stats.laplace(scale=self.b)

    def fill(self, buffer: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Overwrite `buffer` with independent draws and return it."""
        # Inverse transform of u ~ U(−1, 1): −sign(u) log(1 − |u|) is a standard Laplace variable.
        u = buffer.uniform_(-1.0, 1.0, generator=generator)
        magnitude = u.abs().clamp_(max=1.0 - 2.0**-24).neg_().log1p_().mul_(-self.b)
        return buffer.sign_().mul_(magnitude)

    def sample_like(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Fresh draws in the shape, type and device of x."""
        return self.fill(x.new_empty(x.shape), generator)

    def radius(self, p_a: float) -> float:
        """Certified radius when the top class has probability at least p_a; 0 at and below 1/2."""
        return self.radius_from_error(1.0 - p_a)

    def radius_from_error(self, q_a: float) -> float:
        """The same from q_a ≥ 1 − p_A, which keeps its digits where p_a is close to 1."""
        if q_a <= 0:
            return math.inf
        return max(0.0, -self.b * math.log(2.0 * q_a))
