"""Directions that lead out of a class, and how far one must go along them."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from smoothcert.audit.space import Space

Oracle = Callable[[Tensor, int], tuple[Tensor, Tensor]]
Fooled = Callable[[Tensor], Tensor]


def climb(
    oracle: Oracle, space: Space, start: Tensor, length: float, steps: int, *, adapt: bool, keep: Tensor
) -> tuple[Tensor, Tensor]:
    """u ← unit(u + a_t g),  ρ ← (1 ∓ γ_t) ρ, − where x + ρu fools   [DDN: Rony et al. 2019].

    Without `adapt` ρ stays: projected gradient ascent on a sphere. a_t falls from 1 to 0.1, so that the last steps
    average over the noise of the oracle; γ_t from 0.2 to 0.02. Directions (B, …) and lengths (B,).
    """
    u, lengths = space.unit(start), torch.full((len(start),), length, dtype=torch.float64)
    for t in range(steps):
        fade = 0.5 * (1 + math.cos(math.pi * t / steps))
        gradients, fooled = oracle(space.at(u, lengths), t)
        u = space.unit(u + (0.1 + 0.9 * fade) * space.steepest(gradients, keep))
        if adapt:
            lengths *= 1 + (0.02 + 0.18 * fade) * (1 - 2 * fooled.cpu().double())
    return u, lengths


def shortest(
    fooled: Fooled, space: Space, directions: Tensor, low: Tensor, high: Tensor, reach: float, rounds: int
) -> tuple[Tensor, int]:
    """ρ_b = the least length along u_b that fools, by growth and bisection; ∞ where none up to `reach` does.

    `low` is thought not to fool and `high` to do so. Also how many points were tried. What fools need not be monotone
    in ρ: any change will do, since what is found is judged afterwards.
    """
    high, tried = high.clamp(max=reach), 0
    out = fooled(space.at(directions, high))
    while not (out | (high >= reach)).all():
        tried += len(directions)
        low = torch.where(out, low, high)
        high = torch.where(out, high, (1.5 * high).clamp(max=reach))
        out = fooled(space.at(directions, high))
    for _ in range(rounds):
        tried += len(directions)
        middle = (low + high) / 2
        nearer = fooled(space.at(directions, middle))
        low, high = torch.where(nearer, low, middle), torch.where(nearer, middle, high)
    return torch.where(out, high, math.inf), tried + len(directions)
