"""The draws of a whole batch, of which this process has a share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def normal_like(x: Tensor, generator: torch.Generator | None, within: tuple[int, int] | None) -> Tensor:
    """N(0, I) in the shape of x: images start … of a batch of `total` get what they would have there."""
    start, total = within or (0, len(x))
    return x.new_empty((total, *x.shape[1:])).normal_(generator=generator)[start : start + len(x)]


def whole_numbers(below: int, x: Tensor, generator: torch.Generator | None, within: tuple[int, int] | None) -> Tensor:
    """One of 0, …, below − 1 for each image, each as likely."""
    import torch

    start, total = within or (0, len(x))
    return torch.randint(below, (total,), generator=generator, device=x.device)[start : start + len(x)]
