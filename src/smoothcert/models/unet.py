"""A small U-shaped network from images to images."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pixel_shuffle, pixel_unshuffle

from smoothcert.errors import InputError

_FREQUENCIES = 4


class UNet(nn.Module):
    """U(x, u): images and a level of noise u to images of the same shape   [after Zhang et al. 2018, 2021].

    Two down-samplings: the first takes the four pixels of a 2×2 window as channels (FFDNet), so that no convolution
    runs at full size, where few channels leave a CPU's arithmetic idle; the second is a strided convolution. At each
    size residual blocks of two 3×3 convolutions, as DRUNet has them, w channels and below 2w. No norm: training
    and testing compute the same. The level enters every block as a shift of its channels, by cos 2ᵏu and sin 2ᵏu.

    Args:
        width: w
        channels: C, of the images
    """

    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        if not 1 <= width <= 1024:
            raise InputError(f"unet: its width must lie between 1 and 1024 channels, not {width}")
        self.head = nn.Conv2d(4 * channels, width, 3, padding=1)
        self.encode = Block(width)
        self.down = nn.Conv2d(width, 2 * width, 2, stride=2)
        self.middle = nn.ModuleList([Block(2 * width), Block(2 * width)])
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.decode = Block(width)
        self.tail = nn.Conv2d(width, 4 * channels, 3, padding=1)
        nn.init.zeros_(self.tail.weight)
        nn.init.zeros_(self.tail.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor, u: Tensor) -> Tensor:  # (B, C, H, W), (B,) or (1,) → (B, C, H, W)
        if x.shape[-1] % 4 or x.shape[-2] % 4:
            raise InputError(f"a unet takes images whose sides are multiples of 4, not {tuple(x.shape[-2:])}")
        waves = features(u)
        fine = self.encode(self.head(pixel_unshuffle(x, 2)), waves)  # (B, w, H/2, W/2)
        coarse = self.down(fine)  # (B, 2w, H/4, W/4)
        for block in self.middle:
            coarse = block(coarse, waves)
        return pixel_shuffle(self.tail(self.decode(fine + self.up(coarse), waves)), 2)


class Block(nn.Module):
    """x + conv(relu(conv(x) + W e)); the last convolution begins at 0, and the block as the identity."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.shift = nn.Linear(2 * _FREQUENCIES, channels, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.zeros_(self.conv2.weight)
        nn.init.zeros_(self.conv2.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor, waves: Tensor) -> Tensor:
        inner = self.conv1(x) + self.shift(waves)[:, :, None, None]
        return x + self.conv2(inner.relu_())


def features(u: Tensor) -> Tensor:
    """cos 2ᵏu and sin 2ᵏu,  k = 0, …, 3: (B,) → (B, 8)."""
    angles = u[:, None] * torch.tensor([2.0**k for k in range(_FREQUENCIES)], device=u.device)
    return torch.cat([angles.cos(), angles.sin()], 1)


def as_level(value: float | Tensor, x: Tensor) -> Tensor:
    """A number, or one for each image, as float32 numbers beside x."""
    level = torch.as_tensor(value, dtype=torch.float32, device=x.device)
    if level.ndim > 1 or (level.ndim == 1 and len(level) not in (1, len(x))):
        raise InputError(f"the level of noise is a number, or one for each of {len(x)} images, not {level.shape}")
    return level.reshape(-1)
