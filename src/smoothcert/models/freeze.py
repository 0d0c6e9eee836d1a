"""The network that is certified and deployed: weights fixed, batch norm folded, one memory layout, one precision."""

from __future__ import annotations

import copy
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.machine.precision import PRECISIONS
from smoothcert.models.composed import AS_GIVEN, Composed
from smoothcert.models.network import declared
from smoothcert.models.normalize import Normalize

_IN_FLOAT32 = (Normalize, nn.modules.batchnorm._BatchNorm)  # of a bfloat16 network too: they cost nothing


@runtime_checkable
class Foldable(Protocol):
    """A network that knows which batch norm alone reads which convolution."""

    def foldable(self) -> list[tuple[str, str]]: ...


class Frozen(nn.Module):
    """f with nothing left to choose: whoever certifies or predicts with it computes the same function.

    Folding rounds differently from the network it was folded from, so an input on the decision boundary to
    within float32 rounding can get another class. Hence this network, and not that one, is the f of its
    certificates, and `variant` names it there.

    In bfloat16 the first step of f rounds its float32 input, weights and activations are bfloat16, sums are kept in
    float32, and logits are returned in float32.
    """

    def __init__(self, f: nn.Module, variant: str, concurrent: bool, precision: str = "float32") -> None:
        super().__init__()
        self.f = f
        self.variant: str = variant
        self.concurrent: bool = concurrent
        """several threads may call it at once: true of our networks, and of others' that declare it"""
        self.precision: str = precision
        says = declared(f)
        self.input_range: tuple[float, float] = says.input_range or (0.0, 1.0)
        self.input_shape: tuple[int, ...] | None = says.input_shape and tuple(says.input_shape)
        self.memory_format: torch.memory_format = says.memory_format or torch.contiguous_format
        self.passes_per_vote: int = says.passes_per_vote

    def forward(self, x: Tensor, *more: object) -> Tensor:
        """`more` is passed on as it is: what a denoiser is told beside its images."""
        if self.input_shape is not None and tuple(x.shape[1:]) != self.input_shape:
            raise InputError(f"the images are {tuple(x.shape[1:])} but the network takes {self.input_shape}")
        x = x.contiguous(memory_format=self.memory_format)
        if self.precision == "float32" or isinstance(self.f, Composed):  # the parts of one round for themselves
            return self.f(x, *more)
        return self.f(x.bfloat16(), *more).float()

    def train(self, mode: bool = True) -> Frozen:
        if mode:
            raise InputError("a frozen network cannot be trained: train the network it was made from")
        super().train(False)
        return self


def frozen(f: nn.Module, precision: str = "float32") -> Frozen:
    """f for evaluation: a folded, channels-last copy of a network of ours, in float32 or bfloat16.

    Anybody else's network is not copied but put into evaluation mode where it stands, its layers as given; in bfloat16
    it is a copy. It may declare `memory_format` and `concurrent`. Of a network put together from others, as an
    ensemble, each part is frozen.
    """
    if precision not in PRECISIONS:
        raise InputError(f"precision is float32 or bfloat16, not {precision!r}")
    if isinstance(f, Frozen):
        if f.precision != precision:
            raise InputError(f"the network is frozen in {f.precision}: freeze the one it was made from in {precision}")
        return f
    if isinstance(f, Composed):
        f = f.with_parts(lambda part: frozen(part, precision))
        return Frozen(f, f.variant, declared(f).concurrent, precision).eval()
    words, concurrent = [], isinstance(f, Foldable) or declared(f).concurrent
    rounded = precision == "bfloat16"
    if isinstance(f, Foldable) or rounded:
        f = copy.deepcopy(f)
    if isinstance(f, Foldable):
        pairs = f.foldable()
        for convolution, norm in pairs:
            _fold(f, convolution, norm, torch.bfloat16 if rounded else None)
        words += ["folded batch norm"] * bool(pairs)
    f.eval()
    for parameter in f.parameters():  # not f.requires_grad_, which TorchScript does not have
        parameter.requires_grad_(False)
    if declared(f).memory_format == torch.channels_last:
        f = f.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        words.append("channels-last")
    words = words or [AS_GIVEN]
    if rounded:
        _round_to_bfloat16(f)
        words.append(precision)
    return Frozen(f, ", ".join(words), concurrent, precision).eval()


def _round_to_bfloat16(f: nn.Module) -> None:
    for module in f.modules():
        if not isinstance(module, _IN_FLOAT32):
            for value in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
                if value.is_floating_point():
                    value.data = value.data.bfloat16()


def _fold(f: nn.Module, convolution: str, norm: str, dtype: torch.dtype | None) -> None:
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
    dtype = dtype or conv.weight.dtype
    weight = conv.weight.double() * scale.view(-1, 1, 1, 1)
    conv.weight = nn.Parameter(weight.to(dtype), requires_grad=False)
    conv.bias = nn.Parameter(shift.to(dtype), requires_grad=False)
    parent, _, name = norm.rpartition(".")
    setattr(f.get_submodule(parent), name, nn.Identity())
