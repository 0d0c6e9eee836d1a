"""The U as a denoiser."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from smoothcert.models.unet import UNet, as_level

_CENTRE, _SPREAD = 0.5, 0.3


class UNetDenoiser(nn.Module):
    """D(x, σ) = ½ + s(x − ½) + σ√s U((x − ½)/√(c² + σ²), log σ),  s = c²/(c² + σ²), c = 0.3   [Karras et al. 2022].

    s(x − ½) is the Wiener filter of a pixel of standard deviation c, and what U adds has about the size of the error
    that this leaves, cσ/√(c² + σ²) = σ√s: input and output of U have the scale 1 for every σ, so that one network
    serves many. A new one is that filter.

    `unet32` on grey images of 28×28: 205,060 parameters, 15,706,624 multiplications. `unet64` on colour images of
    32×32: 820,748 parameters, 83,233,792 multiplications.

    Args:
        width: channels at half the size; twice as many at a quarter
        channels: of the images
    """

    task = "denoise"
    memory_format = torch.channels_last

    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        self.unet = UNet(width, channels)

    def forward(self, x: Tensor, sigma: float | Tensor) -> Tensor:
        """x̂ of noisy images x in the scale [0, 1]; σ is a number, or one for each image."""
        level = as_level(sigma, x)
        variance = level.square()[:, None, None, None]
        share = _SPREAD**2 / (_SPREAD**2 + variance)
        centred = x - _CENTRE
        added = self.unet(centred / (_SPREAD**2 + variance).sqrt(), level.log())
        return _CENTRE + share * centred + (share * variance).sqrt() * added
