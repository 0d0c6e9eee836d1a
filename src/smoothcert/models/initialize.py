"""How fresh weights are drawn."""

import math

from torch import nn


def initialize(f: nn.Module) -> None:
    """Convolution weights ~ N(0, 2 / (k² · out)) from torch's global generator; batch norm γ = 1, β = 0."""
    for module in f.modules():
        if isinstance(module, nn.Conv2d):
            fan_out = math.prod(module.kernel_size) * module.out_channels
            nn.init.normal_(module.weight, std=math.sqrt(2 / fan_out))
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
