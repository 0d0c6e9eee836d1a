"""NoisePGD: gradient ascent on the noise, where other attacks move the image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from smoothcert.attacks.ascent import TINY, l2_norm
from smoothcert.attacks.ball import project, require_ball, warmed_up
from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.shown import shown

if TYPE_CHECKING:
    from torch import Tensor

KEPT = ("moments", "norm")


@dataclass(frozen=True)
class NoisePGD:
    """δ_i ← keep(δ_i + s g_i/(‖g_i‖₂ + 1e-8)),  g_i = ∇_{δ_i} E_i CE(t, softmax f(x + δ_i)), T times.

    The image stays, its noise becomes less lucky, and still looks like a draw. Two laws say how far and what is kept:
    - "moments" [CAT-RS, Jeong et al. 2023]: s = 2ε/T; projected to the ball of radius ε around the draw δ⁰, then given
      its mean and root mean square r⁰: (δ − mean)/r · r⁰ + mean⁰, as in the released code. That keeps the mean
      exactly, the root mean square up to a share of the order 1/d in d pixels, and may lead out of the ball.
    - "norm" [Sun et al. 2025]: s = ε/T; given the norm of the draw; a draw stops where it is first misclassified. Their
      step s = .25, T = 3 is ε = .75 here.
    Nothing is drawn, and each draw has its own step: the result is a function of image and noise.

    Args:
        epsilon: ε in units of the image range
        steps: T
        keep: "moments" or "norm"
        warmup: epochs over which ε rises linearly to its full length; 1 is none
        start: the epoch from which there is an attack, and its warm-up counts

    Example:
        >>> import torch
        >>> from smoothcert import Consistency, CrossEntropy, Gaussian, Objective
        >>> attack = NoisePGD(epsilon=0.75, steps=3, keep="norm")
        >>> objective = Objective(Gaussian(0.5), (CrossEntropy(), Consistency(5.0)), m=2, attack=attack)
        >>> x, y = torch.full((3, 1, 2, 2), 0.5), torch.tensor([0, 1, 2])
        >>> objective(torch.nn.Flatten(), x, y).loss.shape
        torch.Size([])
    """

    epsilon: float
    steps: int
    keep: str = "norm"
    warmup: int = 1
    start: int = 0
    moves_noise: ClassVar[bool] = True
    knobs: ClassVar[tuple[str, ...]] = ("epsilon", "steps", "m", "warmup")

    def __post_init__(self) -> None:
        require_ball(self, self.epsilon, self.steps, least_steps=0, warmup=self.warmup)
        if self.keep not in KEPT:
            hint = did_you_mean(self.keep[:80], KEPT)
            raise InputError(f"NoisePGD: keep must be {' or '.join(KEPT)}, not {shown(self.keep)}{hint}")
        if self.start < 0:
            raise InputError(f"NoisePGD: start must be an epoch 0, 1, …, not {self.start}")

    def at(self, epoch: int) -> NoisePGD:
        """The attack as it is in that epoch: none before `start`, then its warm-up."""
        if epoch < self.start:
            return replace(self, steps=0, warmup=1, start=0)
        return replace(self, epsilon=warmed_up(self.epsilon, epoch - self.start, self.warmup), warmup=1, start=0)

    def __call__(self, g: Callable[[Tensor], Tensor], x: Tensor, target: Tensor, delta: Tensor) -> Tensor:
        """The moved draws (m, B, …).

        Args:
            g: views (m, B, …) → logits (m, B, K)
            x: (B, …) images
            target: t: labels (B,), or probabilities (B, K)
            delta: (m, B, …) the draws
        """
        import torch

        stops, s = self.keep == "norm", (1 if self.keep == "norm" else 2) * self.epsilon / max(1, self.steps)
        draw = moved = delta.detach().flatten(0, 1)
        top = target if target.dim() == 1 else target.argmax(-1)
        stopped = torch.zeros(len(draw), dtype=torch.bool, device=x.device).view(-1, *[1] * (draw.dim() - 1))
        for _ in range(self.steps):
            with torch.enable_grad():  # also for those who attack under no_grad
                moved = moved.detach().requires_grad_()
                logits = g(moved.view_as(delta) + x.detach())
                (gradient,) = torch.autograd.grad(_cross_entropy(logits, target).mean(0).sum(), moved)
            moved = moved.detach()
            if stops:
                stopped = stopped | (logits.argmax(-1) != top).view_as(stopped)
            further = self._kept(moved.add(gradient / (l2_norm(gradient) + TINY), alpha=s), draw)
            moved = moved.where(stopped, further)
        return moved.view_as(delta)

    def _kept(self, moved: Tensor, draw: Tensor) -> Tensor:  # (m·B, …) both
        if self.keep == "norm":
            return moved / (l2_norm(moved) + TINY) * l2_norm(draw)
        moved = draw + project(moved - draw, self.epsilon)
        return (moved - _mean(moved)) / _rms(moved).clamp_(min=1e-12) * _rms(draw) + _mean(draw)


def _cross_entropy(logits: Tensor, target: Tensor) -> Tensor:  # (m, B, K), (B,) or (B, K) → (m, B)
    """Its slope is that of KL(t ‖ ·), from which it differs by the entropy of t."""
    log_p = logits.log_softmax(-1)
    if target.dim() == 1:
        return -log_p.gather(-1, target.expand(len(logits), -1).unsqueeze(-1)).squeeze(-1)
    return -(target * log_p).sum(-1)


def _mean(delta: Tensor) -> Tensor:  # (n, …) → (n, 1, …)
    return delta.mean(tuple(range(1, delta.dim())), keepdim=True)


def _rms(delta: Tensor) -> Tensor:  # (n, …) → (n, 1, …)
    return _mean(delta.square()).sqrt()
