"""ResNet-50 for 224×224 photographs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from smoothcert.models.cifar_resnet import convolutions_and_norms, initialize, projection
from smoothcert.models.fused import conv_norm_relu
from smoothcert.models.normalize import IMAGENET, Normalize


class ImageNetResNet(nn.Module):
    """7×7 stem, then 3, 4, 6, 3 bottleneck blocks: 25,557,032 parameters at K = 1000   [He et al. 2016].

    The stride of a block sits on its 3×3 convolution and the weights are named as torchvision names them.
    """

    input_range = (0.0, 1.0)
    input_shape = (3, 224, 224)
    memory_format = torch.channels_last

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.normalize = Normalize(*IMAGENET)
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = _stage(64, 64, blocks=3, stride=1)
        self.layer2 = _stage(256, 128, blocks=4, stride=2)
        self.layer3 = _stage(512, 256, blocks=6, stride=2)
        self.layer4 = _stage(1024, 512, blocks=3, stride=2)
        self.fc = nn.Linear(2048, num_classes)
        initialize(self)

    def forward(self, x: Tensor) -> Tensor:
        x = conv_norm_relu(self.conv1, self.bn1, self.normalize(x))  # (B, 64, 112, 112)
        x = nn.functional.max_pool2d(x, 3, 2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))  # (B, 2048, 7, 7)
        x = nn.functional.adaptive_avg_pool2d(x, 1)
        return self.fc(x.flatten(1))

    def foldable(self) -> list[tuple[str, str]]:
        return convolutions_and_norms(self)


class Bottleneck(nn.Module):
    """1×1 down to `width`, 3×3, 1×1 up to 4 · width, added to x or its projection."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = None if inputs == outputs and stride == 1 else projection(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        residual = conv_norm_relu(self.conv1, self.bn1, x)
        residual = conv_norm_relu(self.conv2, self.bn2, residual)
        return conv_norm_relu(self.conv3, self.bn3, residual, x if self.downsample is None else self.downsample(x))


def _stage(inputs: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    first = Bottleneck(inputs, width, stride)
    return nn.Sequential(first, *(Bottleneck(4 * width, width, 1) for _ in range(blocks - 1)))
