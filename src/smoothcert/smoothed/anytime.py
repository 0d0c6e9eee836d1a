"""`anytime`: a radius that is valid whenever one looks, for those who watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.smoothed.evidence import Ask, Evidence
from smoothcert.smoothed.radius import pair_radius, require_bound, single_radius
from smoothcert.stats.confidence_sequence import anytime_bound
from smoothcert.stats.pair import pair_bound_of


@dataclass(frozen=True)
class Anytime:
    """R = radius(1 − q̄_n),  P[∃n: q̄_n < q] ≤ α: any look at the votes gives a valid radius, so the best one does.

    It never asks for an end: whoever watches stops. A certificate keeps the one look that gave it.
    """

    noise: Noise
    n0: int = 100
    alpha: float = 0.001
    bound: str = "single"
    name: ClassVar[str] = "anytime"
    label_aware: ClassVar[bool] = False
    floors_radii: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_bound(self.bound, self.noise)
        if self.n0 < 1:
            raise InputError("n0 must be at least 1: the guess needs a vote")
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha must lie strictly between 0 and 1, not {self.alpha}")

    def next(self, evidence: Evidence) -> Ask | None:
        if not evidence.selection:
            return Ask("selection", self.n0)
        return None if evidence.looks else Ask("estimation", 0)  # 0: as many as one likes

    def radius(self, evidence: Evidence) -> float | None:
        n, errors, runner_up = evidence.looks[-1]
        if self.bound == "pair":
            return pair_radius(self.noise, pair_bound_of(errors, runner_up, n, self.alpha, anytime_bound))
        return single_radius(self.noise, float(anytime_bound(errors, n, self.alpha)))

    @property
    def largest(self) -> float:
        return float("inf")

    def header(self) -> dict[str, Any]:
        return {"procedure": self.name, "bound": self.bound, "n0": self.n0, "alpha": self.alpha}
