"""`adaptive`: a pilot plans n, a top-up saves a radius almost reached. For the average certified radius."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from smoothcert.noise import Noise
from smoothcert.procedures.bound import SINGLE, Bound
from smoothcert.procedures.evidence import Ask, Evidence
from smoothcert.procedures.radius import require_enough, thresholds
from smoothcert.stats.planning import VotePlan, plan_votes, top_up


@dataclass(frozen=True)
class Adaptive:
    """q̄ = min(q̄₁(e of n(e₀)), q̄₂(e' of 1.3 n)), P_q[q̄ < q] ≤ α by the joint law of both looks (`TwoLooks`).

    n(e₀) is planned from the n₀ selection votes: given those it is a constant. With two classes each has its share of α
    for both looks. Label-aware: the class judged is the image's label, and the pilot's votes only plan n.

    Not `exact`, as in logs whose header has no `boundary`: q̄ = min(CP(e of n(e₀); 0.8 α), CP(e' of 1.3 n; 0.2 α)).
    """

    noise: Noise
    radii: tuple[float, ...]
    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    bound: Bound = SINGLE
    label_aware: bool = False
    exact: bool = True
    name: ClassVar[str] = "adaptive"
    floors_radii: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_enough(self.n, self.alpha)
        self.bound.require(self.noise)
        self.plan.planned(0)  # a plan that cannot be made is refused here

    @cached_property
    def plan(self) -> VotePlan:
        return plan_votes(self.alpha, thresholds(self.noise, self.radii), self.n0, self.n, exact=self.exact)

    def next(self, evidence: Evidence) -> Ask | None:
        if not evidence.selection:
            return Ask("selection", self.n0)
        if not evidence.looks:
            return Ask("estimation", int(self.plan.planned(evidence.pilot_errors)))
        again = len(evidence.looks) == 1 and bool(top_up(self.plan, evidence.pilot_errors, evidence.looks[0].errors))
        return Ask("estimation", self.plan.cap) if again else None

    def radius(self, evidence: Evidence) -> float | None:
        if not self.exact:
            return self.bound.radius(self.noise, zip(evidence.looks, self.plan.levels, strict=False))
        both = self.plan.bound(evidence.looks[0].n)
        return self.bound.radius(self.noise, [(look, self.alpha) for look in evidence.looks], both)

    @property
    def largest(self) -> float:
        if self.exact:  # q̄₂(0) = CP(0 of cap; α): without errors the first look adds nothing to the second
            n, level = (self.plan.cap, self.alpha) if self.plan.z else (self.n, self.alpha)
            return self.bound.largest(self.noise, n, level)
        looks = zip((self.n, self.plan.cap), self.plan.levels, strict=True)
        return max(self.bound.largest(self.noise, n, level) for n, level in looks)

    def header(self) -> dict[str, Any]:
        said = {"procedure": self.name, "bound": self.bound.name, "radii": list(self.radii)}
        said |= {"boundary": "exact"} if self.exact else {}
        return said | {"label_aware": self.label_aware, "n0": self.n0, "n": self.n, "alpha": self.alpha}
