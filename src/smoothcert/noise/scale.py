"""The check every noise makes of its one parameter."""

import math

from smoothcert.errors import InputError


def require_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"noise {name} must be a positive number, not {value}")
