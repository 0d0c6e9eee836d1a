"""PREDICT of Cohen et al. (2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from smoothcert.errors import InputError
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.procedures.evidence import Counts, counts
from smoothcert.stats import top_two_p_value


@dataclass(frozen=True)
class Prediction:
    """g(x) = label, or ABSTAIN; a label other than g(x) is returned with probability ≤ α."""

    label: int
    p_value: float
    alpha: float
    votes: Counts
    seed: int | None = None
    index: int | None = None
    precision: str = "float32"
    """of f"""
    rounded: bool = field(default=False, compare=False)
    """the image was not on the grid of its noise: this is about the nearest image that is"""
    residual: float = field(default=0.0, compare=False)
    """of grid noise: how far all draws together are from their law; it adds to α"""

    @property
    def abstained(self) -> bool:
        return self.label == ABSTAIN

    @property
    def n(self) -> int:
        return sum(self.votes)


def require_votes(n: int, alpha: float) -> None:
    """InputError where n votes cannot tell anything at level α, even if all are for one class: 2^(1−n) > α.

    >>> require_votes(11, 0.001)
    """
    _require_alpha(alpha)
    least = math.ceil(1 - math.log2(alpha))
    if n < least:
        raise InputError(f"n = {n} votes tell nothing at alpha = {alpha:g}, even if all agree: take n >= {least}")


def _require_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie strictly between 0 and 1, not {alpha}")


def predict(votes: ArrayLike, alpha: float) -> Prediction:
    """PREDICT of Cohen et al. (2019): the top class if a two-sided test tells it from the second at level α."""
    _require_alpha(alpha)
    found = counts(votes)
    if found.sum() < 1:
        raise InputError("n must be at least 1")
    second, first = np.argsort(found, kind="stable")[-2:]
    p_value = top_two_p_value(int(found[first]), int(found[second]))
    return Prediction(int(first) if p_value <= alpha else ABSTAIN, p_value, alpha, tuple(map(int, found)))
