"""The optimiser a recipe asks for, and its state as named tensors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer

from smoothcert.recipes import Recipe


def optimizer_of(recipe: Recipe, f: nn.Module) -> Optimizer:
    if recipe.second_moment is None:
        return SGD(f.parameters(), recipe.lr, recipe.momentum, 0.0, recipe.weight_decay, recipe.nesterov)
    betas = (recipe.momentum, recipe.second_moment)
    return AdamW(f.parameters(), recipe.lr, betas, weight_decay=recipe.weight_decay)


def state_of(optimizer: Optimizer, f: nn.Module) -> dict[str, Tensor]:
    """KEY.PARAMETER → tensor, such as momentum_buffer.conv1.weight; empty before the first step."""
    return {
        f"{key}.{name}": value
        for name, p in f.named_parameters()
        for key, value in optimizer.state.get(p, {}).items()
        if isinstance(value, Tensor)
    }


def restore(optimizer: Optimizer, f: nn.Module, state: dict[str, Tensor]) -> None:
    """What `state_of` gave: counters (no dimension) as they are, the rest laid out in memory as its parameter."""
    parameters = dict(f.named_parameters())
    for full, value in state.items():
        key, _, name = full.partition(".")
        p = parameters[name]
        optimizer.state[p][key] = torch.empty_like(p).copy_(value) if value.ndim else value


def fits(f: nn.Module, state: dict[str, Tensor]) -> bool:
    """Is every tensor of a parameter that f has, and of its shape or a counter?"""
    shapes = {name: p.shape for name, p in f.named_parameters()}
    names = {full: full.partition(".")[2] for full in state}
    return all(names[full] in shapes and (t.ndim == 0 or t.shape == shapes[names[full]]) for full, t in state.items())
