"""Where an attack may go, directions that lead out of a class, and how far one must go along them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from smoothcert.smoothed.grid_image import rounded

Oracle = Callable[[Tensor, int], tuple[Tensor, Tensor]]
Fooled = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Space:
    """x' = fl32(x + ρ u/‖u‖_p), and ‖x' − x‖_p in float64 of just that x': rounding is measured, not ignored.

    A certificate covers all of R^d, so x' may leave the image range unless `box` forbids it; under grid noise it covers
    the points of the grid only, to which x' is rounded.
    """

    x: Tensor
    norm: float
    box: tuple[float, float] | None = None
    on_grid: bool = False

    def at(self, directions: Tensor, lengths: Tensor) -> Tensor:  # (B, …), (B,) → (B, …)
        points = self.x + self.unit(directions) * _column(lengths.to(self.x), directions)
        points = points if self.box is None else points.clamp(*self.box)
        return rounded(points) if self.on_grid else points

    def inside(self, directions: Tensor, radius: float) -> Tensor:
        """Points strictly within the ball, as close to its surface as float32 allows; x itself if R = 0."""
        for margin in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1):
            points = self.at(directions, torch.full((len(directions),), radius * (1 - margin)))
            if (self.distance(points) < radius).all():
                return points
        return self.x.expand_as(directions).clone()

    def distance(self, points: Tensor) -> Tensor:  # (B, …) → (B,)
        delta = points.cpu().double() - self.x.cpu().double()
        return torch.linalg.vector_norm(delta.flatten(1), self.norm, dim=1)

    def unit(self, directions: Tensor) -> Tensor:
        """u/‖u‖_p; 0 stays 0."""
        lengths = torch.linalg.vector_norm(directions.flatten(1), self.norm, dim=1)
        return directions / _column(lengths, directions).clamp(min=1e-30)

    def steepest(self, gradients: Tensor, keep: Tensor) -> Tensor:
        """argmax_{‖u‖_p ≤ 1} g·u for p = 2; for p = 1 the signs of the largest coordinates, a share `keep` of them.

        One coordinate would be steepest in ℓ₁, but a network saturates along it [Tramèr & Boneh 2019].
        """
        if self.norm == 2:
            return self.unit(gradients)
        size = gradients.flatten(1).abs()
        count = (keep * size.shape[1]).ceil().long().clamp(1, size.shape[1])  # (B,)
        least = size.sort(1, descending=True).values.gather(1, (count - 1).to(size.device)[:, None])
        sparse = gradients.flatten(1).sign() * (size >= least)
        return self.unit(sparse.view_as(gradients))


def _column(values: Tensor, like: Tensor) -> Tensor:  # (B,) → (B, 1, …)
    return values.view(-1, *[1] * (like.dim() - 1))


def climb(
    oracle: Oracle, space: Space, start: Tensor, length: float, steps: int, *, adapt: bool, keep: Tensor
) -> Tensor:
    """u ← unit(u + a_t g),  ρ ← (1 ∓ γ_t) ρ, − where x + ρu fools   [DDN: Rony et al. 2019].

    Without `adapt` ρ stays: projected gradient ascent on a sphere. a_t falls from 1 to 0.1, so that the last steps
    average over the noise of the oracle; γ_t from 0.2 to 0.02. Returns u (B, …).
    """
    u, lengths = space.unit(start), torch.full((len(start),), length, dtype=torch.float64)
    for t in range(steps):
        fade = 0.5 * (1 + math.cos(math.pi * t / steps))
        gradients, fooled = oracle(space.at(u, lengths), t)
        u = space.unit(u + (0.1 + 0.9 * fade) * space.steepest(gradients, keep))
        if adapt:
            lengths *= 1 + (0.02 + 0.18 * fade) * (1 - 2 * fooled.cpu().double())
    return u


def shortest(
    fooled: Fooled, space: Space, directions: Tensor, low: Tensor, high: Tensor, reach: float, rounds: int
) -> Tensor:
    """ρ_b = the least length along u_b that fools, by growth and bisection; ∞ where none up to `reach` does.

    `low` is thought not to fool and `high` to do so. What fools need not be monotone in ρ: any change will do, since
    what is found is judged afterwards.
    """
    high = high.clamp(max=reach)
    out = fooled(space.at(directions, high))
    while not (out | (high >= reach)).all():
        low = torch.where(out, low, high)
        high = torch.where(out, high, (1.5 * high).clamp(max=reach))
        out = fooled(space.at(directions, high))
    for _ in range(rounds):
        middle = (low + high) / 2
        nearer = fooled(space.at(directions, middle))
        low, high = torch.where(nearer, low, middle), torch.where(nearer, middle, high)
    return torch.where(out, high, math.inf)
