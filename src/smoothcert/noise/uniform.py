"""Uniform noise for ℓ₁ certificates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from smoothcert.noise.base import require_positive

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Uniform:
    """δ_j ~ U(−w, w) certifies the ℓ₁ ball of radius w(2 p_A − 1)   [Lee et al. 2019; Yang et al. 2020].

    Args:
        w: half the width of the interval, in units of the image range [0, 1]

    Example:
        >>> round(Uniform(1.0).radius(0.99), 3)
        0.98
    """

    w: float
    norm: ClassVar[float] = 1

    def __post_init__(self) -> None:
        require_positive("w", self.w)

    @property
    def scale(self) -> float:
        """The law's only parameter, w."""
        return self.w

    @property
    def marginal(self) -> Any:
        """The law of one coordinate as a frozen SciPy distribution."""
        from scipy import stats

        return stats.uniform(loc=-self.w, scale=2 * self.w)

    def fill(self, buffer: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Overwrite `buffer` with independent draws and return it."""
        return buffer.uniform_(-self.w, self.w, generator=generator)

    def sample_like(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Fresh draws in the shape, type and device of x."""
        return self.fill(x.new_empty(x.shape), generator)

    def radius(self, p_a: float) -> float:
        """Certified radius when the top class has probability at least p_a; 0 at and below 1/2."""
        return self.radius_from_error(1.0 - p_a)

    def radius_from_error(self, q_a: float) -> float:
        """The same from q_a ≥ 1 − p_A, which keeps its digits where p_a is close to 1."""
        return max(0.0, self.w * (1.0 - 2.0 * q_a))
