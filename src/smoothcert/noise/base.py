"""What a noise must offer to train under it and to certify with it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from smoothcert.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

MOST_GRID_SCALE = 7.0


class Noise(Protocol):
    """A law of δ and its theorem: if f(x + δ) = c with probability ≥ p_A, then g = c within `radius(p_a)` of x.

    `scale` is the law's only parameter, in units of the image range [0, 1].
    """

    norm: ClassVar[float]
    """the ball that is certified: ℓ_norm"""

    @property
    def scale(self) -> float: ...

    @property
    def marginal(self) -> Any:
        """The law of one coordinate as a frozen SciPy distribution: the tests hold the other methods against it."""

    def fill(self, buffer: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Overwrite `buffer` with independent draws and return it: the hot loops allocate nothing."""

    def sample_like(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Fresh draws in the shape, type and device of x."""

    def radius(self, p_a: float) -> float:
        """Certified radius when the top class has probability at least p_a; 0 at and below 1/2."""

    def radius_from_error(self, q_a: float) -> float:
        """The same from q_a ≥ 1 − p_A, which keeps its digits where p_a is close to 1."""


def require_positive(name: str, value: float) -> None:
    """The check every noise makes of its one parameter."""
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"noise {name} must be a positive number, not {value}")


def require_grid_scale(name: str, value: float) -> None:
    """Of noise that is drawn in 16-bit integers: wider noise and the image would not fit."""
    require_positive(name, value)
    if value > MOST_GRID_SCALE:
        raise InputError(f"noise {name} must be at most {MOST_GRID_SCALE:g} on the grid of 8-bit images, not {value}")
