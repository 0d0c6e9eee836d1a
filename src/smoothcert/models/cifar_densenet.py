"""DenseNet-40 for 32×32 colour images."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from smoothcert.models.cifar_resnet import initialize
from smoothcert.models.normalize import CIFAR10, Normalize

_GROWTH = 12
_STEM = 24
_LAYERS = 6  # a block


class CifarDenseNet(nn.Module):
    """Three blocks of six bottleneck layers, growth 12: 211,978 parameters at K = 10   [Huang et al. 2017].

    Blocks are joined by average pooling alone, so 24 + 3 · 6 · 12 = 240 channels arrive at the end.
    The names of its weights are those of the paper's own code.
    """

    input_range = (0.0, 1.0)
    input_shape = (3, 32, 32)
    memory_format = torch.channels_last

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.normalize = Normalize(*CIFAR10)
        self.features = _Features()
        self.classifier = nn.Linear(_STEM + 3 * _LAYERS * _GROWTH, num_classes)
        initialize(self)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(self.normalize(x))  # (B, 240, 8, 8)
        x = nn.functional.avg_pool2d(x, 8)
        return self.classifier(x.flatten(1))

    def foldable(self) -> list[tuple[str, str]]:
        """Only the norm between a layer's two convolutions: every other one reads several layers' outputs."""
        layers = [name for name, module in self.named_modules() if isinstance(module, DenseLayer)]
        return [(f"{layer}.brc_1.conv", f"{layer}.brc_2.norm") for layer in layers]


class _Features(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv0 = nn.Conv2d(3, _STEM, 3, padding=1, bias=False)
        self.block1 = _block(_STEM)
        self.block2 = _block(_STEM + _LAYERS * _GROWTH)
        self.block3 = _block(_STEM + 2 * _LAYERS * _GROWTH)
        self.norm_last = nn.BatchNorm2d(_STEM + 3 * _LAYERS * _GROWTH)

    def forward(self, x: Tensor) -> Tensor:
        x = self.block1(self.conv0(x))
        x = self.block2(nn.functional.avg_pool2d(x, 2))
        x = self.block3(nn.functional.avg_pool2d(x, 2))
        return self.norm_last(x).relu_()


class DenseLayer(nn.Module):
    """[x, conv3×3(relu(bn(conv1×1(relu(bn(x))))))]: 1×1 to 4 · growth, 3×3 to growth."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.brc_1 = _NormReluConv(channels, 4 * _GROWTH, 1)
        self.brc_2 = _NormReluConv(4 * _GROWTH, _GROWTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.brc_2(self.brc_1(x))], 1)


class _NormReluConv(nn.Module):
    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(self.norm(x).relu_())


def _block(channels: int) -> nn.Sequential:
    block = nn.Sequential()
    for number in range(_LAYERS):
        block.add_module(f"layer{number + 1}", DenseLayer(channels + number * _GROWTH))
    return block
