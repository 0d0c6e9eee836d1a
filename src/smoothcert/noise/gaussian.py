"""Gaussian noise for ℓ₂ certificates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from smoothcert.noise.scale import require_positive

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Gaussian:
    """δ ~ N(0, σ²I) certifies the ℓ₂ ball of radius σ Φ⁻¹(p_A)   [Cohen et al. 2019, Thm 1]."""

    sigma: float
    norm: ClassVar[float] = 2

    def __post_init__(self) -> None:
        require_positive("sigma", self.sigma)

    @property
    def scale(self) -> float:
        return self.sigma

    @property
    def marginal(self) -> Any:
        from scipy import stats

        return stats.norm(scale=self.sigma)

    def fill(self, buffer: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return buffer.normal_(0.0, self.sigma, generator=generator)

    def sample_like(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return self.fill(x.new_empty(x.shape), generator)

    def radius(self, p_a: float) -> float:
        return self.radius_from_error(1.0 - p_a)

    def radius_from_error(self, q_a: float) -> float:
        from scipy.special import ndtri

        return max(0.0, -self.sigma * float(ndtri(q_a)))
