"""CERTIFY of Cohen et al. (2019): n₀ votes choose, n fresh ones judge, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.smoothed.evidence import Ask, Evidence
from smoothcert.smoothed.radius import largest_radius, pair_radius, require_bound, require_enough, single_radius
from smoothcert.stats import error_bound
from smoothcert.stats.pair import pair_bound_of


@dataclass(frozen=True)
class Paper:
    """R = radius(p̲),  p̲ = Clopper–Pearson of n votes at level α; with `pair`, R of eq. 3 at α split .9 / .1."""

    noise: Noise
    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    bound: str = "single"
    name: ClassVar[str] = "paper"
    label_aware: ClassVar[bool] = False
    floors_radii: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_enough(self.n, self.alpha)
        require_bound(self.bound, self.noise)
        if self.n0 < 1:
            raise InputError("n0 must be at least 1: the guess needs a vote")

    def next(self, evidence: Evidence) -> Ask | None:
        if not evidence.selection:
            return Ask("selection", self.n0)
        return None if evidence.looks else Ask("estimation", self.n)

    def radius(self, evidence: Evidence) -> float | None:
        n, errors, runner_up = evidence.looks[-1]
        if self.bound == "pair":
            return pair_radius(self.noise, pair_bound_of(errors, runner_up, n, self.alpha))
        return single_radius(self.noise, float(error_bound(errors, n, self.alpha)))

    @property
    def largest(self) -> float:
        return largest_radius(self.noise, self.n, self.alpha * (0.9 if self.bound == "pair" else 1.0))

    def header(self) -> dict[str, Any]:
        return {"procedure": self.name, "bound": self.bound, "n0": self.n0, "n": self.n, "alpha": self.alpha}
