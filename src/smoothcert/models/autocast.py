"""A network in bfloat16 whose own arithmetic stays in float32."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from smoothcert.models.composed import state
from smoothcert.models.freeze import frozen
from smoothcert.models.network import declared


class Autocast(nn.Module):
    """f with convolutions and products of matrices in bfloat16; the rest, and what it gives, in float32.

    Training computes so, and denoisers always: they scale images and compute with σ or a step, which bfloat16 would
    round too much.
    """

    def __init__(self, f: nn.Module) -> None:
        super().__init__()
        self.f = f
        state(self, declared(f), [f])
        self.precision: str = "bfloat16"
        self.variant: str = f"{self.variant}, bfloat16"

    def forward(self, x: Tensor, *more: object) -> Tensor:
        with torch.autocast(x.device.type, torch.bfloat16):
            made: Tensor = self.f(x, *more)
        return made.float()


def frozen_denoiser(network: nn.Module, precision: str = "float32") -> nn.Module:
    """The network for evaluation, in float32 or in bfloat16."""
    f = frozen(network)
    return Autocast(f).eval() if precision == "bfloat16" else f
