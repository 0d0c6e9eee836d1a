"""One check of the self-test."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """A statistic whose law is known if all is well; `statistic` says in words and numbers what was seen."""

    noise: str
    name: str
    statistic: str
    p_value: float


def yes(noise: str, name: str, statistic: str, holds: bool) -> Check:
    """A check without chance: it holds, or the p-value is 0."""
    return Check(noise, name, statistic, float(holds))
