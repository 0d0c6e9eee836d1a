"""Normalisation as the first layer, so that noise is added in [0, 1] coordinates before it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.shown import shown

CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

NORMALIZATIONS = ("standard", "center", "none")
"""(x − mean) / std as the paper has it; x − mean as smoothing-adversarial has it; x as MACER has it"""


class Normalize(nn.Module):
    """(x − mean) / std per channel. Constants, not parameters: they are not trained and not decayed."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return ((x - self.mean) / self.std).to(x.dtype)  # in float32 also of a bfloat16 x


def renormalize(f: nn.Module, normalization: str) -> nn.Module:
    """f with another of the NORMALIZATIONS as its first layer; "standard" leaves what f was built with."""
    if normalization not in NORMALIZATIONS:
        hint = did_you_mean(normalization[:80], NORMALIZATIONS)
        raise InputError(f"unknown normalization {shown(normalization)}{hint}")
    own = getattr(f, "normalize", None)
    if normalization == "standard" or (normalization == "none" and own is None):
        return f
    if not isinstance(own, Normalize):
        raise InputError(f"{type(f).__name__} has no mean to subtract: its normalization is none")
    mean = own.mean.flatten().tolist()
    f.normalize = nn.Identity() if normalization == "none" else Normalize(mean, [1.0] * len(mean))
    return f
