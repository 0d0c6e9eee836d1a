"""Gaussian augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class CrossEntropy:
    """E_i CE(p_i, y),  p_i = softmax f(x + δ_i)   [Cohen et al. 2019]."""

    least_m: ClassVar[int] = 1
    wants_clean: ClassVar[bool] = False
    knobs: ClassVar[tuple[str, ...]] = ()

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (B,)
        log_p = logits.log_softmax(-1)
        return -log_p.gather(-1, y.expand(len(logits), -1).unsqueeze(-1)).squeeze(-1).mean(0)
