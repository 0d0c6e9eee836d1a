"""The check every term makes of its weights."""

import math

from smoothcert.errors import InputError


def require_weight(term: object, **weights: float) -> None:
    for name, value in weights.items():
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"{type(term).__name__}: {name} must be a number >= 0, not {value}")
