"""`curve`: which radii of a grid are certified, with as few votes as that takes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.smoothed.evidence import Ask, Evidence
from smoothcert.smoothed.radius import thresholds
from smoothcert.stats.group_sequential import SequentialTable, standing
from smoothcert.stats.table_cache import cached_table


@dataclass(frozen=True)
class Curve:
    """r_m = the largest radius of the grid all of whose hypotheses q ≥ q_0, …, q_m fell: level α, no union over radii.

    The radius is a point of the grid, not the most there is: good for certified accuracy at the grid's radii, never
    for an average. `n` is the fixed number of votes it competes with; up to 1.3 n are drawn, mostly far fewer.

    Label-aware: the class judged is the image's label, no selection votes are drawn, and the statement is "g = label
    within r": certified accuracy is a count of just these. An image for which it is not certified is recorded as
    abstained: whether g is wrong there or undecided is not asked, that is where the votes are saved.
    """

    noise: Noise
    radii: tuple[float, ...]
    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    label_aware: bool = False
    name: ClassVar[str] = "curve"
    bound: ClassVar[str] = "single"
    floors_radii: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.n0 < 1 and not self.label_aware:
            raise InputError("n0 must be at least 1: the guess needs a vote")
        if not self.table.z.size:
            raise InputError(f"no radius of the grid can be certified with n={self.n} at alpha={self.alpha:g}")

    @cached_property
    def table(self) -> SequentialTable:
        return _table(thresholds(self.noise, self.radii), self.alpha, self.n)

    def next(self, evidence: Evidence) -> Ask | None:
        if not evidence.selection and not self.label_aware:
            return Ask("selection", self.n0)
        seen = len(evidence.looks)
        if seen and standing(self.table, _path(evidence)).stop:
            return None
        return Ask("estimation", int(self.table.looks[seen]))

    def radius(self, evidence: Evidence) -> float | None:
        certified = int(standing(self.table, _path(evidence)).certified)
        return self.radii[certified - 1] if certified else None

    @property
    def largest(self) -> float:
        return self.radii[self.table.z.size - 1]

    def header(self) -> dict[str, Any]:
        return {
            "procedure": self.name,
            "bound": self.bound,
            "radii": list(self.radii),
            "label_aware": self.label_aware,
            "table": self.table.fingerprint,
            "n0": 0 if self.label_aware else self.n0,
            "n": self.n,
            "alpha": self.alpha,
        }


def _path(evidence: Evidence) -> list[int]:
    return [look.errors for look in evidence.looks]


@lru_cache(maxsize=8)
def _table(z: tuple[float, ...], alpha: float, n: int) -> SequentialTable:
    if not z:
        raise InputError("no radius of the grid can be certified under this noise")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cached_table(cache / "smoothcert", z, alpha, n)
