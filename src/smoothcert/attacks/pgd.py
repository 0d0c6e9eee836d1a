"""Projected gradient ascent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from smoothcert.attacks.ball import project, require_ball, require_images, warmed_up
from smoothcert.attacks.soft import ascent

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class PGD:
    """x' ← Π_[0,1] Π_ε (x' + 2ε/T g/(‖g‖₂ + 1e-8)),  g = ∇ −log E_i softmax F_y(x' + δ_i)   [Salman 2019].

    T steps from x itself: nothing is drawn, so the result is a function of the noise. In either order both Π
    hold, up to rounding: clamping brings x' nearer to an x in [0, 1], and shrinking x' − x keeps x' between
    the two.
    """

    epsilon: float
    """radius in units of the image range"""
    steps: int
    warmup: int = 1
    """epochs over which ε rises linearly to its full length; 1 is none"""
    project_first: bool = True
    """project to the ball, then clamp, as Jeong & Shin's code does; Salman's own clamps first"""
    knobs: ClassVar[tuple[str, ...]] = ("epsilon", "steps", "m", "warmup")

    def __post_init__(self) -> None:
        require_ball(self, self.epsilon, self.steps, least_steps=0, warmup=self.warmup)

    def at(self, epoch: int) -> PGD:
        return replace(self, epsilon=warmed_up(self.epsilon, epoch, self.warmup), warmup=1)

    def __call__(self, g: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
        require_images(x)
        x = x_adv = x.detach()
        for _ in range(self.steps):
            direction, _logits = ascent(g, x_adv, y)
            x_adv = x_adv.add(direction, alpha=2 * self.epsilon / self.steps)
            if self.project_first:
                x_adv = (x + project(x_adv - x, self.epsilon)).clamp_(0, 1)
            else:
                x_adv = x + project(x_adv.clamp_(0, 1) - x, self.epsilon)
        return x_adv
