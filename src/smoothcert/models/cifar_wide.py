"""A wide, shallow network for 32×32 colour images."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.models.cifar_resnet import convolutions_and_norms, initialize
from smoothcert.models.fused import conv_norm_relu
from smoothcert.models.lenet import max_pool
from smoothcert.models.normalize import CIFAR10, Normalize


class CifarWide(nn.Module):
    """3×3 stem of 32 channels, three groups of two 3×3 convolutions at 64, 256, 256 channels   [after Jordan 2024].

    Two more, residual ones follow at 4×4, where they are cheap. 3,157,002 parameters and 170,756,608 multiplications an
    image (K = 10), where ResNet-110 has 1.7 and 255 million and takes twice the time: convolutions of 16 channels leave
    most of a CPU's arithmetic idle.

    Args:
        num_classes: K
        width: a factor on all channels, for trials on a small scale; `build("cifar_wide50", K)` has half of them
    """

    input_range = (0.0, 1.0)
    input_shape = (3, 32, 32)
    memory_format = torch.channels_last

    def __init__(self, num_classes: int = 10, width: float = 1.0) -> None:
        super().__init__()
        if not 1 / 16 <= width <= 16:
            raise InputError(f"cifar_wide: its width must lie between 1/16 and 16, not {width}")
        stem, *groups = (round(width * channels) for channels in (32, 64, 256, 256))
        self.normalize = Normalize(*CIFAR10)
        self.conv = nn.Conv2d(3, stem, 3, padding=1, bias=False)
        self.bn = shift_norm(stem)
        self.group1 = Group(stem, groups[0])
        self.group2 = Group(groups[0], groups[1])
        self.group3 = Group(groups[1], groups[2])
        self.residual1 = Residual(groups[2])
        self.residual2 = Residual(groups[2])
        self.fc = nn.Linear(groups[2], num_classes)
        initialize(self)

    def forward(self, x: Tensor) -> Tensor:
        x = conv_norm_relu(self.conv, self.bn, self.normalize(x))  # (B, 32, 32, 32)
        x = self.group3(self.group2(self.group1(x)))  # (B, 256, 4, 4)
        x = self.residual2(self.residual1(x))
        return self.fc(x.mean((2, 3)))

    def foldable(self) -> list[tuple[str, str]]:
        """Some norms read their convolution through a maximum: see `shift_norm`."""
        return convolutions_and_norms(self)


class Group(nn.Module):
    """relu(bn(conv(relu(bn(pool(conv(x)))))))."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.bn1 = shift_norm(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = shift_norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.bn1(max_pool(self.conv1(x))).relu_()
        return conv_norm_relu(self.conv2, self.bn2, x)


class Residual(nn.Module):
    """x + relu(bn(conv(x)))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn = shift_norm(channels)

    def forward(self, x: Tensor) -> Tensor:
        return x + conv_norm_relu(self.conv, self.bn, x)


def shift_norm(channels: int) -> nn.BatchNorm2d:
    """(x − μ)/√(var + ε) + β: batch norm with γ = 1, which is not trained.

    Before a ReLU and a linear layer a positive γ changes nothing that these cannot. And as 1/√(var + ε) is positive,
    the norm of a maximum is the maximum of norms, so that it folds into the convolution before the pool.
    """
    norm = nn.BatchNorm2d(channels)
    del norm.weight
    norm.register_buffer("weight", torch.ones(channels), persistent=False)
    return norm
