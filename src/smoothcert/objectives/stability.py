"""Stability training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from smoothcert.objectives.term import require_weight

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Stability:
    """CE(p, y) + λ E_i CE(p, p_i),  p = softmax f(x),  p_i = softmax f(x + δ_i)   [Li et al. 2019].

    The label is learnt from the image without noise, and the noisy views must follow it. Neither side of the
    second term is detached, so p is also drawn to what survives the noise. The paper has m = 1.

    Args:
        lbd: λ, the weight of the second term

    Example:
        >>> import torch
        >>> logits, y = torch.zeros(2, 5, 10), torch.arange(5)  # the image itself, then m = 1 view of it
        >>> round(Stability(lbd=2)(logits, y).mean().item(), 3)  # 3 log 10
        6.908
    """

    lbd: float
    least_m: ClassVar[int] = 1
    wants_clean: ClassVar[bool] = True
    knobs: ClassVar[tuple[str, ...]] = ("lbd",)

    def __post_init__(self) -> None:
        require_weight(self, lbd=self.lbd)

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor:  # (1 + m, B, K), (B,) → (B,)
        log_p = logits.log_softmax(-1)
        clean, noisy = log_p[0], log_p[1:]
        label = -clean.gather(-1, y.unsqueeze(-1)).squeeze(-1)
        drift = -(clean.exp() * noisy).sum(-1).mean(0)
        return label + self.lbd * drift
