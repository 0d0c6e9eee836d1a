"""The consistency regulariser, and the squared distance that the paper tries in its place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from smoothcert.objectives.term import require_weight

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Consistency:
    """λ E_i KL(p̄ ‖ p_i) + η H(p̄),  p_i = softmax f(x + δ_i),  p̄ = E_i p_i   [Jeong & Shin 2020].

    The noisy views must agree (KL) and agree firmly (H). The paper's ablations are of the same family: η = 0
    is its KL form, η = λ its cross-entropy form λ E_i CE(p̄, p_i). With one view the KL vanishes, so m ≥ 2.

    Args:
        lbd: λ, the weight of agreement
        eta: η, the weight of firmness

    Example:
        >>> import torch
        >>> logits, y = torch.zeros(2, 5, 10), torch.arange(5)  # of m = 2 views of 5 images, 10 classes
        >>> round(Consistency(lbd=10, eta=0.5)(logits, y).mean().item(), 3)  # views agree: 0.5 log 10
        1.151
    """

    lbd: float
    eta: float = 0.5
    least_m: ClassVar[int] = 2
    wants_clean: ClassVar[bool] = False
    knobs: ClassVar[tuple[str, ...]] = ("lbd", "eta")

    def __post_init__(self) -> None:
        require_weight(self, lbd=self.lbd, eta=self.eta)

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (B,)
        log_p = logits.log_softmax(-1)
        log_pbar = log_p.logsumexp(0) - math.log(len(logits))  # stable where log(mean(p)) is not
        pbar = log_pbar.exp()  # not detached: the mean is trained too
        kl = (pbar * (log_pbar - log_p)).sum(-1).mean(0)
        entropy = -(pbar * log_pbar).sum(-1)
        return self.lbd * kl + self.eta * entropy


@dataclass(frozen=True)
class MeanSquared:
    """λ ‖p_1 − p_2‖²,  p_i = softmax f(x + δ_i), of the first two views   [Jeong & Shin 2020, table 8]."""

    lbd: float
    least_m: ClassVar[int] = 2
    wants_clean: ClassVar[bool] = False
    knobs: ClassVar[tuple[str, ...]] = ("lbd",)

    def __post_init__(self) -> None:
        require_weight(self, lbd=self.lbd)

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (B,)
        p_1, p_2 = logits[:2].softmax(-1)
        return self.lbd * (p_1 - p_2).square().sum(-1)
