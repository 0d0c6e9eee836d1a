"""2×2 max pooling, faster where nothing is trained."""

from __future__ import annotations

import torch
from torch import Tensor


def max_pool(x: Tensor) -> Tensor:
    """The maximum of each 2×2 window, the same to the last bit on either way.

    On the CPU torch's kernel vectorises over channels alone, which few channels cannot fill: two maxima of slices take
    a third of its time. Where a gradient is wanted their backward pass would cost more than that.
    """
    even = x.shape[-1] % 2 == x.shape[-2] % 2 == 0
    if torch.is_grad_enabled() or x.device.type != "cpu" or not even:
        return torch.nn.functional.max_pool2d(x, 2)
    rows = torch.maximum(x[..., ::2, :], x[..., 1::2, :])
    return torch.maximum(rows[..., ::2], rows[..., 1::2])
