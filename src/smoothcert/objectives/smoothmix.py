"""SmoothMix: mixing an image with an adversary of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from smoothcert.attacks.ascent import ascent
from smoothcert.attacks.ball import require_images
from smoothcert.errors import InputError
from smoothcert.objectives.look import Elsewhere, Look
from smoothcert.objectives.term import require_weight

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class SmoothMix:
    """η 1[argmax p̄ = y] E_i KL(t ‖ softmax f(x' + δ_i)),  x' = (1−l) x̂ + l x̃,  t = (1−l) p̄ + l/K   [Jeong et al. 2021].

    p_i = softmax f(x̂ + δ_i), p̄ = E_i p_i, l ~ U(0, ½) for each image, the same draws δ_i throughout. x̃ comes from x by
    T steps of length a along g/(‖g‖₂ + 1e-8), g = ∇ −log p̄_y, each clamped to [0, 1]; no ball holds it. On the way to
    what it takes for another class the network must become unsure: there it was too sure.

    The target is trained too, as in the released code; `detached` holds it fixed. The paper's one-step variant has an
    attack in the objective, PGD(a, steps=1, warmup=10): x̂ takes the place of x in all terms and in the mix, while x̃
    still starts from x. The released code takes x̂ from the first of the T steps: it saves that pass, and clamps a
    full step before it shortens it during the warm-up. Afterwards both are the same image.

    Args:
        eta: η, the weight
        step: a, the length of a step in units of the image range
        steps: T
        warmup: epochs over which η rises linearly to its full value; 1 is none
        detached: no gradient through the target t

    Example:
        >>> import torch
        >>> from smoothcert import CrossEntropy, Gaussian, Objective
        >>> smoothmix = Objective(Gaussian(0.5), (CrossEntropy(), SmoothMix(eta=5.0, step=1.0, steps=2)), m=2)
        >>> x, y = torch.full((3, 1, 2, 2), 0.5), torch.tensor([0, 1, 2])
        >>> sorted(smoothmix(torch.nn.Flatten(), x, y).terms)
        ['cross_entropy', 'smooth_mix']
    """

    eta: float
    step: float
    steps: int
    warmup: int = 10
    detached: bool = False
    least_m: ClassVar[int] = 1
    wants_clean: ClassVar[bool] = False
    knobs: ClassVar[tuple[str, ...]] = ("eta", "step", "steps", "m", "warmup")

    def __post_init__(self) -> None:
        require_weight(self, eta=self.eta, step=self.step)
        if self.steps < 0:
            raise InputError(f"SmoothMix: steps must be at least 0, not {self.steps}")
        if self.warmup < 1:
            raise InputError(f"SmoothMix: warmup must be at least 1 epoch, not {self.warmup}")

    def at(self, epoch: int) -> SmoothMix:
        """The term as it is in that epoch of its warm-up."""
        return replace(self, eta=self.eta * min(1.0, (epoch + 1) / self.warmup), warmup=1)

    def elsewhere(self, look: Look) -> Elsewhere:
        """The views x' + δ_i, and l."""
        share = look.uniform(1)[0] / 2
        if self.eta == 0:  # not even batch norm is to see what is not charged
            return Elsewhere(None, (share,))
        require_images(look.x)
        x_tilde = look.x
        for _ in range(self.steps):
            direction, _logits = ascent(lambda x: look.g(look.delta + x), x_tilde, look.y)
            x_tilde = x_tilde.add(direction, alpha=self.step).clamp_(0, 1)
        mixed = look.x_hat.lerp(x_tilde, share.view(-1, *[1] * (x_tilde.dim() - 1)))
        return Elsewhere(look.delta + mixed, (share,))

    def __call__(self, logits: Tensor, y: Tensor, mixed: Tensor | None, share: Tensor) -> Tensor:  # … → (B,)
        """From logits (m, B, K) at x̂ and at x', and l (B,)."""
        if mixed is None:
            return logits.new_zeros(len(y))
        log_pbar = logits.log_softmax(-1).logsumexp(0) - math.log(len(logits))
        right = log_pbar.argmax(-1) == y
        share = share.unsqueeze(-1)
        # Of logarithms, for t log t has no slope at t = 0: log 0 of l = 0 is harmless here.
        log_t = (log_pbar + (1 - share).log()).logaddexp(share.log() - math.log(logits.shape[-1]))
        if self.detached:
            log_t = log_t.detach()
        kl = (log_t.exp() * (log_t - mixed.log_softmax(-1))).sum(-1).mean(0)
        return self.eta * kl.where(right, 0.0)
