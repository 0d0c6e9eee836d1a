"""Augmentation of a batch at once, on the device, from uint8: far faster than one image after another."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

Key = tuple[int | str, ...]
"""names a random stream, as (seed, epoch) does; the same key gives the same augmentation, on every device"""


@dataclass(frozen=True)
class Shifts:
    """By up to so many pixels each way, zeros coming in; then, where wanted, a horizontal flip with probability 1/2."""

    pixels: int = 4
    flip: bool = True

    def draw(self, images: int, key: Key) -> Tensor:
        """(N, 3): top, left, flip; for all N, so that none depends on how an epoch is cut in batches."""
        rng = rng_for(key)
        corners = rng.integers(0, 2 * self.pixels + 1, size=(images, 2))
        return torch.from_numpy(np.hstack([corners, rng.integers(0, 1 + self.flip, size=(images, 1))]))

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        height, width = images.shape[2:]
        top, left, flip = draws.unsqueeze(2).unbind(1)  # (B, 1) each
        padded = torch.nn.functional.pad(images, (self.pixels,) * 4).flatten(2)  # (B, C, H' · W')
        column = torch.arange(width, device=images.device)
        columns = left + torch.where(flip.bool(), column.flip(0), column)  # (B, W)
        rows = top + torch.arange(height, device=images.device)  # (B, H)
        where = rows.unsqueeze(2) * (width + 2 * self.pixels) + columns.unsqueeze(1)  # (B, H, W)
        pixels = where.flatten(1).unsqueeze(1).expand(-1, images.shape[1], -1)
        return padded.gather(2, pixels).view_as(images)


def rng_for(key: Key) -> np.random.Generator:
    """An independent stream per key; all 256 bits of its hash are used."""
    name = "/".join(map(str, ("smoothcert", "augment", *key))).encode()
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(name).digest(), "little")))
