"""`adaptive`: a pilot plans n, a top-up saves a radius almost reached. For the average certified radius."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from smoothcert.noise import Noise
from smoothcert.smoothed.evidence import Ask, Evidence
from smoothcert.smoothed.radius import (
    largest_radius,
    pair_radius,
    require_bound,
    require_enough,
    single_radius,
    thresholds,
)
from smoothcert.stats.pair import pair_bound_of
from smoothcert.stats.planning import Plan, plan_votes, planned_bound, top_up


@dataclass(frozen=True)
class Adaptive:
    """q̄ = min(CP(e of n(e₀); 0.8 α), CP(e' of 1.3 n; 0.2 α)): n(e₀) is planned from the n₀ selection votes.

    With `pair` both looks bound p_A and the runner-up at their share of α, split .9 / .1: the failures of all four
    bounds add up to α. Label-aware: the class judged is the image's label, and the pilot's votes only plan n.
    """

    noise: Noise
    radii: tuple[float, ...]
    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    bound: str = "single"
    label_aware: bool = False
    name: ClassVar[str] = "adaptive"
    floors_radii: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_enough(self.n, self.alpha)
        require_bound(self.bound, self.noise)
        self.plan.planned(0)  # a plan that cannot be made is refused here

    @cached_property
    def plan(self) -> Plan:
        return plan_votes(self.alpha, thresholds(self.noise, self.radii), self.n0, self.n)

    def next(self, evidence: Evidence) -> Ask | None:
        if not evidence.selection:
            return Ask("selection", self.n0)
        if not evidence.looks:
            return Ask("estimation", int(self.plan.planned(evidence.pilot_errors)))
        again = len(evidence.looks) == 1 and bool(top_up(self.plan, evidence.pilot_errors, evidence.looks[0].errors))
        return Ask("estimation", self.plan.cap) if again else None

    def radius(self, evidence: Evidence) -> float | None:
        looks = evidence.looks
        if self.bound == "single":
            errors = [look.errors for look in looks]
            return single_radius(self.noise, float(planned_bound(self.plan, evidence.pilot_errors, *errors)))
        n, errors_a, runner_up = looks[0]
        pair = pair_bound_of(errors_a, runner_up, n, self.plan.first_alpha)
        for n, errors_a, runner_up in looks[1:]:
            pair = pair.tighten(pair_bound_of(errors_a, runner_up, n, self.plan.top_up_alpha))
        return pair_radius(self.noise, pair)

    @property
    def largest(self) -> float:
        share, plan = 0.9 if self.bound == "pair" else 1.0, self.plan
        return max(
            largest_radius(self.noise, self.n, plan.first_alpha * share),
            largest_radius(self.noise, plan.cap, plan.top_up_alpha * share),
        )

    def header(self) -> dict[str, Any]:
        return {
            "procedure": self.name,
            "bound": self.bound,
            "radii": list(self.radii),
            "label_aware": self.label_aware,
            "n0": self.n0,
            "n": self.n,
            "alpha": self.alpha,
        }
