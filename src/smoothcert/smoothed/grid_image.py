"""Images on the grid 0, 1/255, …, 1, which grid noise is about: others are rounded to it, and the answer says so."""

from __future__ import annotations

import torch
from torch import Tensor

from smoothcert.errors import InputError
from smoothcert.noise import GridNoise
from smoothcert.noise.exact_law import GRID

_ROUNDING = 1e-3  # steps of the grid: float32 is at most 2e-5 off; more is an image of another kind


def levels(x: Tensor, noise: GridNoise) -> Tensor:
    """round(255 x) as 16-bit integers on the CPU, where the noise is drawn."""
    whole = (x.detach().to("cpu", torch.float64) * GRID).round_()
    most = 2**15 - 1 - noise.table().largest  # image and noise are added in 16 bits
    if not bool((whole.abs() <= most).all()):
        raise InputError(
            f"grid noise is for images in [0, 1]: a value is beyond {most / GRID:.0f}; scale the image first"
        )
    return whole.to(torch.int16)


def rounded(x: Tensor) -> Tensor:
    """The nearest image on the grid, in float32 as `data` gives it."""
    return (x.to(torch.float64) * GRID).round_().div_(GRID).to(torch.float32)


def is_off_grid(x: Tensor) -> bool:
    """Whether rounding changes x by more than float32 does: then what is said is about another image, the rounded."""
    scaled = x.to(torch.float64) * GRID
    return bool(((scaled - scaled.round()).abs() > _ROUNDING).any())
