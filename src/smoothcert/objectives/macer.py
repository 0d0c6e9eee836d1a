"""Maximising the certified radius."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from smoothcert.errors import InputError
from smoothcert.objectives.term import log_p_y, require_weight

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class MACER:
    """−log E_i p_i[y] + λ σ/2 max(γ − z, 0) 1[y tops p̄],  z = Φ⁻¹(p̄_(1)) − Φ⁻¹(p̄_(2))   [Zhai et al. 2020].

    p_i = softmax f(x + δ_i), p̄ = E_i softmax β f(x + δ_i): σz/2 is the radius of the tempered classifier.
    An image is left out of the second term where |z| > γ (the hinge), or where z is infinite or not a number,
    because p̄ cannot be told from 0 or 1 in the type of the logits: in float32 from |Φ⁻¹| ≈ 5.4 on.

    Args:
        sigma: σ of the noise
        lbd: λ, the weight of the radius
        gamma: γ of the hinge
        beta: β, the inverse temperature
        start: the epoch from which the second term is charged

    Example:
        >>> import torch
        >>> logits, y = torch.zeros(2, 5, 10), torch.arange(5)  # of m = 2 views of 5 images, 10 classes
        >>> late = MACER(sigma=0.5, lbd=12, start=3)
        >>> round(late.at(0)(logits, y).mean().item(), 3)  # before `start` the first term alone: log 10
        2.303
    """

    sigma: float
    lbd: float
    gamma: float = 8.0
    beta: float = 16.0
    start: int = 0
    least_m: ClassVar[int] = 1
    wants_clean: ClassVar[bool] = False
    knobs: ClassVar[tuple[str, ...]] = ("lbd", "gamma", "beta", "m")

    def __post_init__(self) -> None:
        require_weight(self, sigma=self.sigma, lbd=self.lbd, gamma=self.gamma, beta=self.beta)
        if self.start < 0:
            raise InputError(f"MACER: start must be an epoch 0, 1, …, not {self.start}")

    def at(self, epoch: int) -> MACER:
        """The term as it is in that epoch: λ = 0 before `start`."""
        return replace(self, lbd=self.lbd if epoch >= self.start else 0.0, start=0)

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (B,)
        classification = math.log(len(logits)) - log_p_y(logits, y).logsumexp(0)
        if self.lbd == 0:
            return classification
        return classification + self.lbd * self.sigma / 2 * self._hinge(logits, y)

    def _hinge(self, logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (B,)
        p, classes = (self.beta * logits).softmax(-1).mean(0).topk(2)  # (B, 2): the first and the second
        z = quantile(p.detach())
        z = z[:, 0] - z[:, 1]
        counts = (classes[:, 0] == y) & (z.abs() <= self.gamma)  # false where z is not a number
        # Φ⁻¹ must not even see the others: 0 · ∞ in the backward pass of a mask applied afterwards is NaN.
        z = quantile(p.where(counts.unsqueeze(-1), 0.5))
        return (self.gamma - z[:, 0] + z[:, 1]).where(counts, 0.0)


def quantile(p: Tensor) -> Tensor:
    """Φ⁻¹(p) = √2 erf⁻¹(2p − 1)."""
    return math.sqrt(2) * (2 * p - 1).erfinv()
