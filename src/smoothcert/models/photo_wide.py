"""A small network for 224×224 photographs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from smoothcert.models.cifar_resnet import convolutions_and_norms, initialize
from smoothcert.models.cifar_wide import Group, Residual, shift_norm
from smoothcert.models.fused import conv_norm_relu
from smoothcert.models.normalize import IMAGENET, Normalize


class PhotoWide(nn.Module):
    """7×7 stem of stride 4, three groups as in `CifarWide` at 32, 128, 256 channels, a residual convolution at 7×7.

    1,685,706 parameters and 224,289,280 multiplications an image (K = 10), where ResNet-50 has 25.6 million and 4.1
    billion. Each window of the stem holds 147 numbers, whose noise it can average.
    """

    input_range = (0.0, 1.0)
    input_shape = (3, 224, 224)
    memory_format = torch.channels_last

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.normalize = Normalize(*IMAGENET)
        self.conv = nn.Conv2d(3, 32, 7, stride=4, padding=3, bias=False)
        self.bn = shift_norm(32)
        self.group1 = Group(32, 32)
        self.group2 = Group(32, 128)
        self.group3 = Group(128, 256)
        self.residual = Residual(256)
        self.fc = nn.Linear(256, num_classes)
        initialize(self)

    def forward(self, x: Tensor) -> Tensor:
        x = conv_norm_relu(self.conv, self.bn, self.normalize(x))  # (B, 32, 56, 56)
        x = self.residual(self.group3(self.group2(self.group1(x))))  # (B, 256, 7, 7)
        return self.fc(x.mean((2, 3)))

    def foldable(self) -> list[tuple[str, str]]:
        return convolutions_and_norms(self)
