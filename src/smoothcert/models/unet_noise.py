"""The U as a network that tells the noise of a diffusion."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from smoothcert.models.unet import UNet, as_level

_STEPS = 1000


class UNetNoise(nn.Module):
    """eps(x_t, t) = U(x_t, π t/1000) is the noise ε in x_t = √ᾱ_t x + √(1 − ᾱ_t) ε   [Ho et al. 2020].

    x is in the scale [−1, 1], and t = 0, …, 999. The network knows the step alone: which ᾱ_t it stands for is the
    schedule's, which a file of weights names.

    `unet_noise32` on grey images of 28×28: 205,060 parameters, 15,706,624 multiplications, as `unet32`.

    Args:
        width: channels at half the size; twice as many at a quarter
        channels: of the images
    """

    task = "predict-noise"
    memory_format = torch.channels_last

    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        self.unet = UNet(width, channels)

    def forward(self, x_t: Tensor, t: int | Tensor) -> Tensor:
        """ε̂ of noisy images in the scale [−1, 1]; t is a step, or one for each image."""
        return self.unet(x_t, math.pi / _STEPS * as_level(t, x_t))
