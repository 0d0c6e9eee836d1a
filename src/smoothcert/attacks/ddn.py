"""Decoupled direction and norm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from smoothcert.attacks.ascent import ascent, l2_norm
from smoothcert.attacks.ball import project, require_ball, require_images, warmed_up
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

_LEVELS = 255


@dataclass(frozen=True)
class DDN:
    """δ ← ρ_t u/‖u‖₂,  u = δ + α_t g/‖g‖₂,  ρ_t = (1 ∓ γ) ρ_{t−1}, − after a success   [Rony et al. 2019].

    Seeks the smallest δ that changes the vote of the m views (their most frequent class, the lower one of a
    tie) and projects it to the ε ball; ρ_0 = ε. An image whose vote never changed is returned as it came.

    It is the loop of Salman's trainer, which the paper's code has too, to 1e-9 a pixel, as it runs since torch 1.1:
    α_t = .01 + .495 (1 + cos πt/T), t = 1 … T. Before, its scheduler began with t = 0: another attack, up to 8e-3 a
    pixel apart in tests/attacks/test_ddn_released.py. Two things differ on purpose:
    - That loop rounds δ to the 1/255 grid once more after the projection, which moves a pixel by up to 1/510 and may
      leave the ball, by up to √d/510 in d pixels (3e-3 there). Here the projection is last: x + δ may lie off the grid.
    - Where a gradient vanishes, also because p̄_y < 1e-20, that loop draws a direction. Here nothing is drawn, and p̄_y
      never underflows.

    Args:
        epsilon: radius ε in units of the image range
        steps: T
        gamma: γ, by which the norm shrinks after a success and grows else
        warmup: epochs over which ε rises linearly to its full length; 1 is none
        quantize: round x + δ to multiples of 1/255 on the way

    Example:
        >>> import torch
        >>> from smoothcert import CrossEntropy, Gaussian, Objective
        >>> smoothadv = Objective(Gaussian(0.5), (CrossEntropy(),), m=2, attack=DDN(epsilon=0.5, steps=2))
        >>> x, y = torch.full((3, 1, 2, 2), 0.5), torch.tensor([0, 1, 2])
        >>> smoothadv(lambda views: views.flatten(1), x, y).loss.shape
        torch.Size([])
    """

    epsilon: float
    steps: int
    gamma: float = 0.05
    warmup: int = 1
    quantize: bool = True
    knobs: ClassVar[tuple[str, ...]] = ("epsilon", "steps", "gamma", "m", "warmup")

    def __post_init__(self) -> None:
        require_ball(self, self.epsilon, self.steps, least_steps=1, warmup=self.warmup)
        if not 0 < self.gamma < 1:
            raise InputError(f"DDN: gamma must lie between 0 and 1, not {self.gamma}")

    def at(self, epoch: int) -> DDN:
        """The attack as it is in that epoch of its warm-up."""
        return replace(self, epsilon=warmed_up(self.epsilon, epoch, self.warmup), warmup=1)

    def __call__(self, g: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, batch: int | None = None) -> Tensor:
        require_images(x)
        x = x.detach()
        farthest = l2_norm(x.maximum(1 - x))  # no image is farther from x
        norm = farthest.new_full(farthest.shape, self.epsilon)
        delta = best = x.new_zeros(x.shape)
        least = farthest
        for t in range(1, self.steps + 1):
            direction, logits = ascent(g, x + delta, y, damping=0)
            success = (logits.argmax(-1).mode(0).values != y).view_as(norm)
            size = l2_norm(delta)
            better = success & (size < least)
            best, least = delta.where(better, best), size.where(better, least)
            delta = delta.add(direction, alpha=0.01 + 0.495 * (1 + math.cos(math.pi * t / self.steps)))
            norm = (norm * (1 + self.gamma * (1 - 2 * success.to(norm.dtype)))).minimum(farthest)
            x_adv = x + delta * (norm / l2_norm(delta).clamp_(min=1e-12))
            if self.quantize:
                x_adv = x_adv.mul_(_LEVELS).round_().div_(_LEVELS)
            delta = x_adv.clamp_(0, 1) - x
        return (x + project(best, self.epsilon)).clamp_(0, 1)
