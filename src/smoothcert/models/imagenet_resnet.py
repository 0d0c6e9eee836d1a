"""ResNet-50 for 224×224 photographs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from smoothcert.models.cifar_resnet import batch_norm_of, projection
from smoothcert.models.initialize import initialize
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
        x = self.bn1(self.conv1(self.normalize(x))).relu_()  # (B, 64, 112, 112)
        x = nn.functional.max_pool2d(x, 3, 2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))  # (B, 2048, 7, 7)
        x = nn.functional.adaptive_avg_pool2d(x, 1)
        return self.fc(x.flatten(1))

    def foldable(self) -> list[tuple[str, str]]:
        """Each convolution with the batch norm that alone reads its output."""
        names = [name for name, module in self.named_modules() if isinstance(module, nn.Conv2d)]
        return [(name, batch_norm_of(name)) for name in names]


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
        residual = self.bn1(self.conv1(x)).relu_()
        residual = self.bn2(self.conv2(residual)).relu_()
        residual = self.bn3(self.conv3(residual))
        residual += x if self.downsample is None else self.downsample(x)
        return residual.relu_()


def _stage(inputs: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    first = Bottleneck(inputs, width, stride)
    return nn.Sequential(first, *(Bottleneck(4 * width, width, 1) for _ in range(blocks - 1)))
