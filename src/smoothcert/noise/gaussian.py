"""Gaussian noise for ℓ₂ certificates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from smoothcert.noise.base import require_positive

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Gaussian:
    """δ ~ N(0, σ²I) certifies the ℓ₂ ball of radius σ Φ⁻¹(p_A)   [Cohen et al. 2019, Thm 1].

    Args:
        sigma: standard deviation σ of each coordinate, in units of the image range [0, 1]

    Example:
        >>> round(Gaussian(0.5).radius(0.99), 3)
        1.163
    """

    sigma: float
    norm: ClassVar[float] = 2

    def __post_init__(self) -> None:
        require_positive("sigma", self.sigma)

    @property
    def scale(self) -> float:
        """The law's only parameter, sigma."""
        return self.sigma

    @property
    def marginal(self) -> Any:
        """The law of one coordinate as a frozen SciPy distribution."""
        from scipy import stats

        return stats.norm(scale=self.sigma)

    def fill(self, buffer: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Overwrite `buffer` with independent draws and return it."""
        return buffer.normal_(0.0, self.sigma, generator=generator)

    def sample_like(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Fresh draws in the shape, type and device of x."""
        return self.fill(x.new_empty(x.shape), generator)

    def radius(self, p_a: float) -> float:
        """Certified radius when the top class has probability at least p_a; 0 at and below 1/2."""
        return self.radius_from_error(1.0 - p_a)

    def radius_from_error(self, q_a: float) -> float:
        """The same from q_a ≥ 1 − p_A, which keeps its digits where p_a is close to 1."""
        from scipy.special import ndtri

        return max(0.0, -self.sigma * float(ndtri(q_a)))
