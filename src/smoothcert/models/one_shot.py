"""A noise-prediction network of a diffusion model as a denoiser."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from smoothcert.models.composed import as_module, state
from smoothcert.models.diffusion import moment
from smoothcert.models.network import agreed


class OneShot(nn.Module):
    """x̂ = (x_t − √(1 − ᾱ_t) ε(x_t, t))/√ᾱ_t with x_t = √ᾱ_t (2z − 1), (1 − ᾱ_t)/ᾱ_t = (2σ)²   [Carlini et al. 2023].

    One denoising step, from images in [0, 1] to images in [0, 1]: the diffusion model's own scale [−1, 1], in which σ
    is doubled, is dealt with here. x̂ is clamped to [0, 1], as Carlini et al. have it. With the true noise it is the
    clean image. t is the nearest whole step (`models.diffusion.step_of`). Under the schedule "edm" nothing is scaled,
    x_t = 2z − 1, and the network is told 2σ instead of a step.

    Args:
        eps: the network: (x_t, t) → ε, with t of shape (B,)
        schedule: "linear", "cosine" or "edm"

    Example:
        >>> OneShot(lambda x_t, t: torch.zeros_like(x_t), "linear")(torch.full((1, 1, 1, 2), 0.75), 0.5)
        tensor([[[[0.7500, 0.7500]]]])
    """

    def __init__(self, eps: Callable[[Tensor, Tensor], Tensor], schedule: str) -> None:
        super().__init__()
        moment(schedule, 1.0)  # refuses an unknown one now
        self.eps, self.schedule = as_module(eps), schedule
        state(self, agreed([eps]), [eps])
        self.variant: str = f"one step, {schedule} schedule ({self.variant})"

    def forward(self, z: Tensor, sigma: float) -> Tensor:
        at = moment(self.schedule, 2 * float(sigma))
        x_t = at.scale * (2 * z - 1)
        kind = torch.float32 if self.schedule == "edm" else torch.int64
        t = torch.full((len(z),), at.t, dtype=kind, device=z.device)
        # √(1 − ᾱ_t)/√ᾱ_t = s_t
        x = x_t / at.scale - at.s * self.eps(x_t, t)
        return ((x + 1) / 2).clamp(0, 1)

    def with_parts(self, change: Callable[[nn.Module], nn.Module]) -> OneShot:
        """The same step with the changed network."""
        return OneShot(change(self.eps), self.schedule)
