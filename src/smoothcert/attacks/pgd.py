"""Projected gradient ascent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from smoothcert.attacks.ascent import TINY, ascent
from smoothcert.attacks.ball import project, require_ball, require_images, warmed_up
from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.shown import shown

if TYPE_CHECKING:
    from torch import Tensor

DAMPINGS = ("none", "image", "batch")
"""c = 0: always a full step, as the text and Salman's trainer have it; c = 1e-8; c = 1e-8 B, as Jeong & Shin's code"""


@dataclass(frozen=True)
class PGD:
    """x' ← Π_[0,1] Π_ε (x' + 2ε/T g/(‖g‖₂ + c)),  g = ∇ −log E_i softmax F_y(x' + δ_i)   [Salman 2019].

    T steps from x itself: nothing is drawn, so the result is a function of the noise, and an image whose gradient is 0
    stays. In either order both Π hold, up to rounding: clamping brings x' nearer to an x in [0, 1], and shrinking
    x' − x keeps x' between the two.

    c matters where the network is confident: an image with ‖g‖₂ = c makes half a step. Jeong & Shin's code adds 1e-8
    to the gradient of the mean over the B images of an optimiser step, which against an image's own is B times that.

    Args:
        epsilon: radius ε in units of the image range
        steps: T
        warmup: epochs over which ε rises linearly to its full length; 1 is none
        project_first: project to the ball, then clamp, as Jeong & Shin's code does; Salman's own clamps first
        damping: c is 0 ("none"), 1e-8 ("image") or 1e-8 B ("batch")
        views: v, climb the loss under v of the m draws, T·v passes instead of T·m; None: under all of them

    Example:
        >>> import torch
        >>> from smoothcert import CrossEntropy, Gaussian, Objective
        >>> smoothadv = Objective(Gaussian(0.5), (CrossEntropy(),), m=2, attack=PGD(epsilon=0.5, steps=2))
        >>> x, y = torch.full((3, 1, 2, 2), 0.5), torch.tensor([0, 1, 2])
        >>> smoothadv(lambda views: views.flatten(1), x, y).loss.shape
        torch.Size([])
    """

    epsilon: float
    steps: int
    warmup: int = 1
    project_first: bool = True
    damping: str = "image"
    views: int | None = None

    def __post_init__(self) -> None:
        require_ball(self, self.epsilon, self.steps, least_steps=0, warmup=self.warmup)
        if self.damping not in DAMPINGS:
            hint = did_you_mean(self.damping[:80], DAMPINGS)
            raise InputError(f"PGD: damping must be {' or '.join(DAMPINGS)}, not {shown(self.damping)}{hint}")

    @property
    def knobs(self) -> tuple[str, ...]:
        """What one has to choose: the number of views only where it is not all of them."""
        return ("epsilon", "steps", "m", "warmup") + (() if self.views is None else ("views",))

    def at(self, epoch: int) -> PGD:
        """The attack as it is in that epoch of its warm-up."""
        return replace(self, epsilon=warmed_up(self.epsilon, epoch, self.warmup), warmup=1)

    def __call__(self, g: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, batch: int | None = None) -> Tensor:
        require_images(x)
        x = x_adv = x.detach()
        c = {"none": 0.0, "image": TINY, "batch": TINY * (batch or len(x))}[self.damping]
        for _ in range(self.steps):
            direction, _logits = ascent(g, x_adv, y, damping=c)
            x_adv = x_adv.add(direction, alpha=2 * self.epsilon / self.steps)
            if self.project_first:
                x_adv = (x + project(x_adv - x, self.epsilon)).clamp_(0, 1)
            else:
                x_adv = x + project(x_adv.clamp_(0, 1) - x, self.epsilon)
        return x_adv
