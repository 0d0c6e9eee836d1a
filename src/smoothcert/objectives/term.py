"""Term: one summand of what training charges."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


class Term(Protocol):
    """Maps the logits of m noisy views to one charge per image; the loss is the mean over images of the sum.

    A frozen dataclass, whose fields are its hyperparameters. It may declare what `Declared` has. One that changes over
    training also has `at(epoch)`, which gives the term as it is in that epoch.

    One that looks at other views too has `elsewhere(look: Look) -> Elsewhere`, which makes them, and is called with
    what became of that: term(logits, y, logits of the other views, *aside).
    """

    def __call__(self, logits: Tensor, y: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...  # (m, B, K), (B,) → (B,)


@dataclass(frozen=True)
class Declared:
    """The attributes of a term, and of an attack, that are known here; each may be missing."""

    least_m: int = 1
    """with fewer views the term would vanish or make no sense"""
    wants_clean: bool = False
    """its logits begin with those of the image itself, without noise: (1 + m, B, K)"""
    wants_votes: bool = False
    """it needs the votes of a first network on the images"""
    moves_noise: bool = False
    """of an attack: it moves the draws, not the image"""
    views: int | None = None
    """of an attack that moves the image: it is shown only so many of the m draws; None: all of them"""
    knobs: tuple[str, ...] = ()
    """what one has to choose for it (default: all its fields); `m` is the objective's"""


def declared(part: object) -> Declared:
    """What a term or an attack says of itself.

    >>> declared(lambda logits, y: logits.mean((0, 2))).least_m
    1
    """
    found = Declared(knobs=tuple(getattr(part, "__dataclass_fields__", ())))
    return replace(found, **{f.name: getattr(part, f.name) for f in fields(Declared) if hasattr(part, f.name)})


def term_name(term: Term) -> str:
    """CrossEntropy → cross_entropy, MACER → macer: the name of a term in logs and recipes."""
    name = str(getattr(term, "called", type(term).__name__))  # of one read without its code, or CAT-RS
    if name.isupper():
        return name.lower()
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def require_weight(term: object, **weights: float) -> None:
    for name, value in weights.items():
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"{type(term).__name__}: {name} must be a number >= 0, not {value}")


def log_p_y(logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (m, B)
    """log p_i[y],  p_i = softmax f(x + δ_i)."""
    return logits.log_softmax(-1).gather(-1, y.expand(len(logits), -1).unsqueeze(-1)).squeeze(-1)
