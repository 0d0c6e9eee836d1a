"""What a network may say of itself, beside f(x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch

from smoothcert.errors import InputError


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
    passes_per_vote: int = 1
    """networks that one image goes through: more than one where f is put together from parts"""


def declared(f: object) -> Declared:
    """What f says of itself.

    >>> declared(torch.nn.Flatten()).input_shape is None
    True
    """
    return Declared(**{field.name: getattr(f, field.name) for field in fields(Declared) if hasattr(f, field.name)})


def agreed(parts: Sequence[object]) -> Declared:
    """What networks that are given the same images say together; InputError where they want images of two shapes."""
    said = [declared(part) for part in parts]
    shapes = {tuple(each.input_shape) for each in said if each.input_shape is not None}
    if len(shapes) > 1:
        sizes = " and ".join("×".join(map(str, shape)) for shape in sorted(shapes))
        raise InputError(f"the parts of one f must take the same images, not those of {sizes}")
    ranges, formats = ({getattr(each, name) for each in said} for name in ("input_range", "memory_format"))
    return Declared(
        shapes.pop() if shapes else None,
        ranges.pop() if len(ranges) == 1 else None,
        formats.pop() if len(formats) == 1 else None,
        all(each.concurrent for each in said),
        sum(each.passes_per_vote for each in said),
    )
