"""Images in memory as a network likes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def laid_out(f: object, images: Tensor) -> Tensor:
    """The same images in the memory format that f declares: their noise was drawn before, in the order of the axes."""
    from smoothcert.models.network import declared

    memory_format = declared(f).memory_format
    if memory_format is None or images.dim() != 4:
        return images
    return images.contiguous(memory_format=memory_format)
