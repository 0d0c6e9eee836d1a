"""`anytime`: a radius that is valid whenever one looks, for those who watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from smoothcert.noise import Noise
from smoothcert.procedures.bound import SINGLE, Bound
from smoothcert.procedures.evidence import Ask, Evidence
from smoothcert.stats.confidence_sequence import anytime_bound


@dataclass(frozen=True)
class Anytime:
    """R = radius(1 − q̄_n),  P[∃n: q̄_n < q] ≤ α: any look at the votes gives a valid radius, so the best one does.

    It never asks for an end: whoever watches stops. A certificate keeps the one look that gave it.
    """

    noise: Noise
    n0: int = 100
    alpha: float = 0.001
    bound: Bound = SINGLE
    name: ClassVar[str] = "anytime"
    label_aware: ClassVar[bool] = False
    floors_radii: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.bound.require(self.noise)

    def next(self, evidence: Evidence) -> Ask | None:
        if not evidence.selection:
            return Ask("selection", self.n0)
        return None if evidence.looks else Ask("estimation", 0)  # 0: as many as one likes

    def radius(self, evidence: Evidence) -> float | None:
        return self.bound.radius(self.noise, [(evidence.looks[-1], self.alpha)], anytime_bound)

    @property
    def largest(self) -> float:
        return float("inf")

    def header(self) -> dict[str, Any]:
        return {"procedure": self.name, "bound": self.bound.name, "n0": self.n0, "alpha": self.alpha}
