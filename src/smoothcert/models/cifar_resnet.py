"""Residual networks for 32×32 colour images."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.models.fused import conv_norm_relu
from smoothcert.models.normalize import CIFAR10, Normalize


class CifarResNet(nn.Module):
    """3×3 stem, three stages of (depth − 2) / 6 basic blocks at 16, 32, 64 channels   [He et al. 2016].

    272,474 parameters at depth 20 and 1,730,714 at depth 110 (K = 10), as shortcuts are 1×1 convolutions with
    batch norm. Its weights are named as in locuslab/smoothing, so that their checkpoints fit key by key.
    """

    input_range = (0.0, 1.0)
    input_shape = (3, 32, 32)
    memory_format = torch.channels_last

    def __init__(self, depth: int, num_classes: int = 10) -> None:
        super().__init__()
        if not 8 <= depth <= 1202 or (depth - 2) % 6:
            near = min(max(8, 6 * round((depth - 2) / 6) + 2), 1202)  # the deepest of He et al.
            raise InputError(f"cifar_resnet{depth}: its depth must be 6k + 2: the nearest is cifar_resnet{near}")
        blocks = (depth - 2) // 6
        self.normalize = Normalize(*CIFAR10)
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = _stage(16, 16, blocks, stride=1)
        self.layer2 = _stage(16, 32, blocks, stride=2)
        self.layer3 = _stage(32, 64, blocks, stride=2)
        self.fc = nn.Linear(64, num_classes)
        initialize(self)

    def forward(self, x: Tensor) -> Tensor:
        x = conv_norm_relu(self.conv1, self.bn1, self.normalize(x))  # (B, 16, 32, 32)
        x = self.layer3(self.layer2(self.layer1(x)))  # (B, 64, 8, 8)
        x = nn.functional.avg_pool2d(x, 8)
        return self.fc(x.flatten(1))

    def foldable(self) -> list[tuple[str, str]]:
        return convolutions_and_norms(self)


class BasicBlock(nn.Module):
    """relu(x' + bn(conv(relu(bn(conv(x)))))), where x' is x or its 1×1 projection."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None if inputs == outputs and stride == 1 else projection(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        residual = conv_norm_relu(self.conv1, self.bn1, x)
        return conv_norm_relu(self.conv2, self.bn2, residual, x if self.downsample is None else self.downsample(x))


def initialize(f: nn.Module) -> None:
    """Convolution weights ~ N(0, 2 / (k² · out)) from torch's global generator; batch norm γ = 1, β = 0."""
    for module in f.modules():
        if isinstance(module, nn.Conv2d):
            fan_out = math.prod(module.kernel_size) * module.out_channels
            nn.init.normal_(module.weight, std=math.sqrt(2 / fan_out))
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)


def projection(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    """The shortcut where the shape changes: 1×1 convolution and batch norm."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


def convolutions_and_norms(f: nn.Module) -> list[tuple[str, str]]:
    """Each convolution with the batch norm that alone reads its output, by their names."""
    names = [name for name, module in f.named_modules() if isinstance(module, nn.Conv2d)]
    return [(name, batch_norm_of(name)) for name in names]


def batch_norm_of(convolution: str) -> str:
    """The name beside a convolution's in the usual naming of residual networks.

    >>> batch_norm_of("layer2.0.conv1"), batch_norm_of("layer2.0.downsample.0")
    ('layer2.0.bn1', 'layer2.0.downsample.1')
    """
    parent, _, name = convolution.rpartition(".")
    norm = "1" if name == "0" else name.replace("conv", "bn")
    return f"{parent}.{norm}" if parent else norm


def _stage(inputs: int, outputs: int, blocks: int, stride: int) -> nn.Sequential:
    first = BasicBlock(inputs, outputs, stride)
    return nn.Sequential(first, *(BasicBlock(outputs, outputs, 1) for _ in range(blocks - 1)))
