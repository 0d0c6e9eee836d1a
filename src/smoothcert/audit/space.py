"""Where an attack may go: x' = x + δ, measured as it is voted on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Space:
    """x' = fl32(x + ρ u/‖u‖_p), and ‖x' − x‖_p in float64 of just that x': rounding is measured, not ignored.

    A certificate covers all of R^d, so x' may leave the image range unless `box` forbids it.
    """

    x: Tensor
    norm: float
    box: tuple[float, float] | None = None

    def at(self, directions: Tensor, lengths: Tensor) -> Tensor:  # (B, …), (B,) → (B, …)
        points = self.x + self.unit(directions) * _column(lengths.to(self.x), directions)
        return points if self.box is None else points.clamp(*self.box)

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
