"""Gaussian noise on the grid of 8-bit images, drawn exactly, for ℓ₂ certificates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from smoothcert.noise.base import require_grid_scale
from smoothcert.noise.exact_law import GRID, gaussian_thresholds
from smoothcert.noise.gaussian import Gaussian

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from smoothcert.noise.grid_table import GridTable


@dataclass(frozen=True)
class GridGaussian:
    """δ = k/255,  P[k] = Φ((k + ½)/255σ) − Φ((k − ½)/255σ)  certifies σ Φ⁻¹(p_A) in ℓ₂   [Voráček & Hein 2023].

    For every x' on the grid, that is with whole numbers 255 x', g(x') = g(x) if ‖x' − x‖₂ ≤ σ Φ⁻¹(p_A). For such x
    round(255 x + N(0, (255σ)²)) has the law of 255 x + k. So f smoothed by δ is, on the grid, f ∘ round smoothed by
    N(0, σ²I), to which the theorem of Cohen et al. (2019) applies. Nothing is said of points beside the grid.

    Args:
        sigma: standard deviation σ before rounding, in units of the image range [0, 1], at most 7

    Example:
        >>> round(GridGaussian(0.5).radius(0.99), 3)
        1.163
        >>> GridGaussian(0.5).residual(784) < 1e-12
        True
    """

    sigma: float
    norm: ClassVar[float] = 2

    def __post_init__(self) -> None:
        require_grid_scale("sigma", self.sigma)

    @property
    def scale(self) -> float:
        """The law's only parameter, sigma."""
        return self.sigma

    @property
    def continuous(self) -> Gaussian:
        """The law that this one is rounded from, with the same theorem."""
        return Gaussian(self.sigma)

    @property
    def marginal(self) -> Any:
        """The law of one coordinate before it is rounded to the grid, as a frozen SciPy distribution."""
        return self.continuous.marginal

    def table(self) -> GridTable:
        """What votes are drawn by; it is computed once."""
        return _table(self.sigma)

    def residual(self, numbers: int) -> float:
        """numbers · values · 2⁻⁶⁴: how far so many draws together are from their law, in total variation, at most."""
        return numbers * self.table().distance

    def fill(self, buffer: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Overwrite `buffer` with draws of torch's generator, rounded to the grid: for training and search, not votes.

        No promise rests on these; votes are drawn by `table`, from a cryptographic stream.
        """
        return buffer.normal_(0.0, GRID * self.sigma, generator=generator).round_().div_(GRID)

    def sample_like(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Such draws in the shape, type and device of x."""
        return self.fill(x.new_empty(x.shape), generator)

    def radius(self, p_a: float) -> float:
        """Certified radius when the top class has probability at least p_a; 0 at and below 1/2."""
        return self.continuous.radius(p_a)

    def radius_from_error(self, q_a: float) -> float:
        """The same from q_a ≥ 1 − p_A, which keeps its digits where p_a is close to 1."""
        return self.continuous.radius_from_error(q_a)


@lru_cache(maxsize=8)
def _table(sigma: float) -> GridTable:
    from smoothcert.noise.grid_table import GridTable

    return GridTable(gaussian_thresholds(sigma))
