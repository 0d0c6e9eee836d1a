"""Gaussian augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from smoothcert.objectives.term import log_p_y

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
        return -log_p_y(logits, y).mean(0)
