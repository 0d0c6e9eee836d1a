"""LeNet for 28×28 grey images."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from smoothcert.models.grey import GreyConv2d


class LeNet(nn.Module):
    """conv 1→20 (5), pool; conv 20→50 (5), pool; 800 → 500 → K: 431,080 parameters at K = 10."""

    input_range = (0.0, 1.0)
    input_shape = (1, 28, 28)
    memory_format = torch.channels_last

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = GreyConv2d(20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(800, 500)
        self.fc2 = nn.Linear(500, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        # relu ∘ pool = pool ∘ relu, with a quarter of the work
        x = max_pool(self.conv1(x)).relu_()
        x = max_pool(self.conv2(x)).relu_()
        x = self.fc1(x.flatten(1)).relu_()
        return self.fc2(x)

    def foldable(self) -> list[tuple[str, str]]:
        """None: LeNet has no batch norm."""
        return []


def max_pool(x: Tensor) -> Tensor:
    """The maximum of each 2×2 window, faster where nothing is trained, and the same to the last bit.

    On the CPU torch's kernel vectorises over channels alone, which few channels cannot fill: two maxima of slices take
    a third of its time. Where a gradient is wanted their backward pass would cost more than that.
    """
    even = x.shape[-1] % 2 == x.shape[-2] % 2 == 0
    if torch.is_grad_enabled() or x.device.type != "cpu" or not even:
        return torch.nn.functional.max_pool2d(x, 2)
    rows = torch.maximum(x[..., ::2, :], x[..., 1::2, :])
    return torch.maximum(rows[..., ::2], rows[..., 1::2])
