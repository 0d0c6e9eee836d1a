"""Gaussian augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class CrossEntropy:
    """E_i CE(p_i, y),  p_i = softmax f(x + δ_i)   [Cohen et al. 2019].

    Example:
        >>> import torch
        >>> logits, y = torch.zeros(2, 5, 10), torch.arange(5)  # of m = 2 views of 5 images, 10 classes
        >>> [round(charge, 3) for charge in CrossEntropy()(logits, y).tolist()]  # log 10 each
        [2.303, 2.303, 2.303, 2.303, 2.303]
    """

    least_m: ClassVar[int] = 1
    wants_clean: ClassVar[bool] = False
    knobs: ClassVar[tuple[str, ...]] = ()

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (B,)
        log_p = logits.log_softmax(-1)
        return -log_p.gather(-1, y.expand(len(logits), -1).unsqueeze(-1)).squeeze(-1).mean(0)
