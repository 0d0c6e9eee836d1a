"""Uniform noise on the grid of 8-bit images, drawn exactly, for ℓ₁ certificates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from smoothcert.noise.base import require_grid_scale
from smoothcert.noise.exact_law import GRID, uniform_thresholds
from smoothcert.noise.uniform import Uniform

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from smoothcert.noise.grid_table import GridTable


@dataclass(frozen=True)
class GridUniform:
    """δ = k/255,  k the rounding of U(−255w, 255w),  certifies w(2 p_A − 1) in ℓ₁ for every x' on the grid.

    For x on the grid round(255 x + U) = 255 x + round(U): on the grid f smoothed by δ is f ∘ round smoothed by
    U(−w, w)^d, to which the theorem of Yang et al. (2020) applies. Nothing is said of points beside the grid.

    Args:
        w: half the width of the interval before rounding, in units of the image range [0, 1], at most 7

    Example:
        >>> round(GridUniform(1.0).radius(0.99), 3)
        0.98
        >>> GridUniform(1.0).residual(784) < 1e-12
        True
    """

    w: float
    norm: ClassVar[float] = 1

    def __post_init__(self) -> None:
        require_grid_scale("w", self.w)

    @property
    def scale(self) -> float:
        """The law's only parameter, w."""
        return self.w

    @property
    def continuous(self) -> Uniform:
        """The law that this one is rounded from, with the same theorem."""
        return Uniform(self.w)

    @property
    def marginal(self) -> Any:
        """The law of one coordinate before it is rounded to the grid, as a frozen SciPy distribution."""
        return self.continuous.marginal

    def table(self) -> GridTable:
        """What votes are drawn by; it is computed once."""
        return _table(self.w)

    def residual(self, numbers: int) -> float:
        """numbers · values · 2⁻⁶⁴: how far so many draws together are from their law, in total variation, at most."""
        return numbers * self.table().distance

    def fill(self, buffer: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Overwrite `buffer` with draws of torch's generator, rounded to the grid: for training and search, not votes.

        No promise rests on these; votes are drawn by `table`, from a cryptographic stream.
        """
        return buffer.uniform_(-GRID * self.w, GRID * self.w, generator=generator).round_().div_(GRID)

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
def _table(w: float) -> GridTable:
    from smoothcert.noise.grid_table import GridTable

    return GridTable(uniform_thresholds(w))
