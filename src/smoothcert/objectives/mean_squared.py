"""The squared-distance ablation of consistency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from smoothcert.objectives.weight import require_weight

if TYPE_CHECKING:
    from torch import Tensor


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
