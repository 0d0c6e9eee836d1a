"""LeNet for 28×28 grey images."""

import torch
from torch import Tensor, nn

from smoothcert.models.grey import GreyConv2d
from smoothcert.models.pool import max_pool


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
