"""A convolution of grey images, faster to attack on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d


class GreyConv2d(nn.Conv2d):
    """torch's convolution of one input channel, but for how the gradient of the images is found on a CPU.

    torch's kernel is slow where there is one channel: a product of matrices instead saves a sixth of a step of
    SmoothAdv on LeNet (bench/grey.py).
    """

    def __init__(self, out_channels: int, kernel_size: int) -> None:
        super().__init__(1, out_channels, kernel_size)

    def forward(self, input: Tensor) -> Tensor:
        attacked = input.requires_grad and torch.is_grad_enabled() and not self.weight.requires_grad
        if input.device.type != "cpu" or not attacked:
            return super().forward(input)
        output: Tensor = _Attacked.apply(input, self.weight, self.bias)
        return output


class _Attacked(torch.autograd.Function):
    """The convolution with fixed weights; no gradient of these is given."""

    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(weight)
        ctx.images = images.shape
        return conv2d(images, weight, bias)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        """Each weight adds its share to the pixels that it has looked at."""
        (weight,) = ctx.saved_tensors
        height, width = weight.shape[2:]
        rows, columns = slope.shape[2:]
        by_place = slope.permute(0, 2, 3, 1).reshape(-1, len(weight))  # no copy where channels come last
        # Under autocast the slope is bfloat16, weights and images are not.
        shares = (weight.flatten(1).T.to(slope.dtype) @ by_place.T).view(height, width, -1, 1, rows, columns)
        total = slope.new_zeros(ctx.images, dtype=weight.dtype)
        for i in range(height):
            for j in range(width):
                total[..., i : i + rows, j : j + columns] += shares[i, j]
        return total, None, None
