"""What a network may say of itself, beside f(x)."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch


@dataclass(frozen=True)
class Declared:
    """The attributes of a network that we know; each may be missing, as of anybody's function.

    Our networks have all of them. A class of one's own declares one by setting it, as in `input_shape = (3, 32, 32)`.
    """

    input_shape: tuple[int, ...] | None = None
    """of one image; None: it is found by trying, or asked for"""
    input_range: tuple[float, float] | None = None
    """least and largest value of a pixel; None: any value is taken, as radii have the units of whoever gives them"""
    memory_format: torch.memory_format | None = None
    """of batches, the fastest for it; None: as they come"""
    concurrent: bool = False
    """whether several threads may call it at once"""


def declared(f: object) -> Declared:
    """What f says of itself.

    >>> declared(torch.nn.Flatten()).input_shape is None
    True
    """
    return Declared(**{field.name: getattr(f, field.name) for field in fields(Declared) if hasattr(f, field.name)})
