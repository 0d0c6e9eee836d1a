"""ascent: the direction in which an attack climbs, and the loss that it climbs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

TINY = 1e-8  # of the released code


def smoothed_loss(logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (B,)
    """−log E_i softmax F_y(x + δ_i)   [Salman et al. 2019]; finite also where the mean underflows."""
    log_p_y = logits.log_softmax(-1).gather(-1, y.expand(len(logits), -1).unsqueeze(-1)).squeeze(-1)
    return math.log(len(logits)) - log_p_y.logsumexp(0)


def ascent(g: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, damping: float = TINY) -> tuple[Tensor, Tensor]:
    """g/(‖g‖₂ + damping),  g = ∇_x −log E_i softmax F_y(x + δ_i); and the logits (m, B, K) at x.

    Each image has the gradient of its own loss, whoever shares its batch. Where it is exactly 0 the direction is 0 too.
    Nobody else's `.grad` is touched.
    """
    import torch

    with torch.enable_grad():  # also for those who attack under no_grad
        x = x.detach().requires_grad_()
        logits = g(x)
        (gradient,) = torch.autograd.grad(smoothed_loss(logits, y).sum(), x)
    return _damped(gradient, damping), logits.detach()


def _damped(gradient: Tensor, damping: float) -> Tensor:
    if damping > 0:
        return gradient / (l2_norm(gradient) + damping)
    # A confident network's gradient may be 1e-30, whose square is 0 in float32: its largest entry is made 1 first.
    largest = gradient.abs().amax(tuple(range(1, gradient.dim())), keepdim=True)
    gradient = gradient / largest.where(largest > 0, 1.0)
    return gradient / l2_norm(gradient).clamp_(min=1.0)


def l2_norm(delta: Tensor) -> Tensor:  # (B, …) → (B, 1, …)
    return delta.norm(2, dim=tuple(range(1, delta.dim())), keepdim=True)
