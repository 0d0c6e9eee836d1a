"""Term: one summand of what training charges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Protocol

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


class Term(Protocol):
    """Maps the logits of m noisy views to one charge per image; the loss is the mean over images of the sum.

    One that changes over training also has `at(epoch)`, which gives the term as it is in that epoch.
    """

    least_m: ClassVar[int]
    """with fewer views the term would vanish or make no sense"""
    wants_clean: ClassVar[bool]
    """its logits begin with those of the image itself, without noise: (1 + m, B, K)"""
    knobs: ClassVar[tuple[str, ...]]
    """what one has to choose for it; `m` is the objective's"""

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor: ...  # (m, B, K), (B,) → (B,)


def term_name(term: Term) -> str:
    """CrossEntropy → cross_entropy, MACER → macer: the name of a term in logs and recipes."""
    name = type(term).__name__
    if name.isupper():
        return name.lower()
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def require_weight(term: Term, **weights: float) -> None:
    for name, value in weights.items():
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"{type(term).__name__}: {name} must be a number >= 0, not {value}")


def log_p_y(logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (m, B)
    """log p_i[y],  p_i = softmax f(x + δ_i)."""
    return logits.log_softmax(-1).gather(-1, y.expand(len(logits), -1).unsqueeze(-1)).squeeze(-1)
