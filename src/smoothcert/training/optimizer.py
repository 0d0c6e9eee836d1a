"""The optimisers a recipe asks for, stepping as one, and their state as named tensors."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Muon, Optimizer

from smoothcert.models.ensemble import member_of
from smoothcert.recipes import Recipe


class Optimizers:
    """SGD or AdamW for all parameters of f, or Muon for its filters and matrices and one of those for the rest."""

    def __init__(self, recipe: Recipe, f: nn.Module) -> None:
        self.parameters = dict(f.named_parameters())
        self._matrices = {name: as_matrix(p.detach(), p) for name, p in _for_muon(recipe, self.parameters).items()}
        """share the memory of their parameters"""
        self._fixed_norm = recipe.muon is not None and recipe.muon.fixed_norm
        self._parts: list[tuple[Optimizer, float]] = []
        rest = [p for name, p in self.parameters.items() if name not in self._matrices]
        if rest:
            self._parts.append((optimizer_of(recipe, rest), recipe.lr))
        if recipe.muon is not None:
            settings = (recipe.muon.lr, recipe.muon.weight_decay, recipe.muon.momentum)
            self._parts.append((Muon(self._matrices.values(), *settings), recipe.muon.lr))

    def step(self, factor: float) -> None:
        """One step along the parameters' gradients, at `factor` times the learning rates."""
        for name, matrix in self._matrices.items():
            p = self.parameters[name]
            matrix.grad = None if p.grad is None else as_matrix(p.grad, p)
        for optimizer, lr in self._parts:
            for group in optimizer.param_groups:
                group["lr"] = lr * factor
            optimizer.step()
        if self._fixed_norm:
            for matrix in self._matrices.values():
                matrix.mul_(len(matrix) ** 0.5 / matrix.norm())

    def state(self) -> dict[str, Tensor]:
        """KEY.PARAMETER → tensor, such as momentum_buffer.conv1.weight; empty before the first step."""
        return {
            f"{key}.{name}": as_parameter(value, p) if name in self._matrices else value
            for name, p in self.parameters.items()
            for key, value in self._state_of(name).items()
            if isinstance(value, Tensor)
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """What `state` gave: counters (no dimension) as they are, the rest laid out in memory as its parameter."""
        for full, value in state.items():
            key, _, name = full.partition(".")
            p = self.parameters.get(name)
            if p is None or (value.ndim and value.shape != p.shape):
                raise RuntimeError(f"{full} is of no parameter, or of another shape")
            laid_out = torch.empty_like(p).copy_(value) if value.ndim else value
            self._state_of(name)[key] = as_matrix(laid_out, p) if name in self._matrices else laid_out

    def _state_of(self, name: str) -> dict[str, Tensor]:
        """What an optimiser keeps of that parameter, to be read and written."""
        held = self._matrices.get(name, self.parameters[name])
        optimizer = self._parts[-1 if name in self._matrices else 0][0]
        found: dict[str, Tensor] = optimizer.state[held]
        return found


def as_matrix(t: Tensor, p: Tensor) -> Tensor:
    """t, laid out as the parameter p, as (out, all the rest): no copy. The order of columns is that of p's memory."""
    last = p.ndim == 4 and p.is_contiguous(memory_format=torch.channels_last)
    return (t.permute(0, 2, 3, 1) if last else t).flatten(1)


def as_parameter(matrix: Tensor, p: Tensor) -> Tensor:
    """The inverse of `as_matrix`, in memory of its own."""
    t = torch.empty_like(p, requires_grad=False)
    as_matrix(t, p).copy_(matrix)
    return t


def _for_muon(recipe: Recipe, parameters: dict[str, nn.Parameter]) -> dict[str, nn.Parameter]:
    if recipe.muon is None:
        return {}
    matrices = [name for name, p in parameters.items() if p.ndim >= 2]
    chosen: list[str] = []
    for _, members in groupby(matrices, member_of):  # each network of an ensemble has a stem and a head
        names = list(members)[0 if recipe.muon.stem else 1 :]
        chosen += names if recipe.muon.head else names[:-1]
    return {name: parameters[name] for name in chosen}


def optimizer_of(recipe: Recipe, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """SGD, or AdamW where the recipe has a second moment."""
    if recipe.second_moment is None:
        return SGD(parameters, recipe.lr, recipe.momentum, 0.0, recipe.weight_decay, recipe.nesterov)
    betas = (recipe.momentum, recipe.second_moment)
    return AdamW(parameters, recipe.lr, betas, weight_decay=recipe.weight_decay)
