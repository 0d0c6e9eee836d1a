"""The network that is certified and deployed: weights fixed, batch norm folded, one memory layout."""

from __future__ import annotations

import copy
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError

AS_GIVEN = "as given"


@runtime_checkable
class Foldable(Protocol):
    """A network that knows which batch norm alone reads which convolution."""

    def foldable(self) -> list[tuple[str, str]]: ...


class Frozen(nn.Module):
    """f with nothing left to choose: whoever certifies or predicts with it computes the same function.

    Folding rounds differently from the network it was folded from, so an input on the decision boundary to
    within float32 rounding can get another class. Hence this network, and not that one, is the f of its
    certificates, and `variant` names it there.
    """

    def __init__(self, f: nn.Module, variant: str, concurrent: bool) -> None:
        super().__init__()
        self.f = f
        self.variant: str = variant
        self.concurrent: bool = concurrent
        """several threads may call it at once: true of our networks, not known of others'"""
        self.input_range: tuple[float, float] = getattr(f, "input_range", (0.0, 1.0))
        self.input_shape: tuple[int, ...] | None = getattr(f, "input_shape", None)
        self.memory_format: torch.memory_format = getattr(f, "memory_format", torch.contiguous_format)

    def forward(self, x: Tensor) -> Tensor:
        if self.input_shape is not None and tuple(x.shape[1:]) != self.input_shape:
            raise InputError(f"the images are {tuple(x.shape[1:])} but the network takes {self.input_shape}")
        return self.f(x.contiguous(memory_format=self.memory_format))

    def train(self, mode: bool = True) -> Frozen:
        if mode:
            raise InputError("a frozen network cannot be trained: train the network it was made from")
        super().train(False)
        return self


def frozen(f: nn.Module) -> Frozen:
    """f for evaluation: a folded, channels-last copy of a network of ours.

    Anybody else's network is not copied but put into evaluation mode where it stands, its layers as given.
    """
    if isinstance(f, Frozen):
        return f
    words, ours = [], isinstance(f, Foldable)
    if isinstance(f, Foldable):
        f = copy.deepcopy(f)
        pairs = f.foldable()
        for convolution, norm in pairs:
            _fold(f, convolution, norm)
        words += ["folded batch norm"] * bool(pairs)
    f.eval().requires_grad_(False)
    if getattr(f, "memory_format", None) == torch.channels_last:
        f = f.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        words.append("channels-last")
    return Frozen(f, ", ".join(words) or AS_GIVEN, ours).eval()


def _fold(f: nn.Module, convolution: str, norm: str) -> None:
    """conv ∗ s + (β − μ s) with s = γ / √(var + ε), computed in float64 and rounded once."""
    conv, bn = f.get_submodule(convolution), f.get_submodule(norm)
    if not (isinstance(conv, nn.Conv2d) and isinstance(bn, nn.BatchNorm2d)):
        raise TypeError(f"{convolution} and {norm} are not a convolution and its batch norm")
    if bn.running_mean is None or bn.running_var is None:
        raise InputError(f"{norm} keeps no running statistics: its output depends on the rest of the batch")
    scale = bn.weight.double() / (bn.running_var.double() + bn.eps).sqrt()
    shift = bn.bias.double() - bn.running_mean.double() * scale
    if conv.bias is not None:
        shift = shift + conv.bias.double() * scale
    weight = conv.weight.double() * scale.view(-1, 1, 1, 1)
    conv.weight = nn.Parameter(weight.to(conv.weight.dtype), requires_grad=False)
    conv.bias = nn.Parameter(shift.to(conv.weight.dtype), requires_grad=False)
    parent, _, name = norm.rpartition(".")
    setattr(f.get_submodule(parent), name, nn.Identity())
