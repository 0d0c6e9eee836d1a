"""`budget`: a given number of votes for all images together, spent where the pilot says they add most to the radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.procedures.bound import SINGLE, Bound
from smoothcert.procedures.evidence import Ask, Evidence
from smoothcert.procedures.radius import require_drawable, require_enough
from smoothcert.stats import least_n
from smoothcert.stats.budget import require_affordable, share_out

_MOST_PILOT_VOTES = 10_000  # the plan, a number for each count of errors, stands in the header of the log


@dataclass(frozen=True)
class Budgeted:
    """R = radius(p̲),  p̲ = Clopper–Pearson of n(e₀) fresh votes at level α,  e₀ the errors among the pilot's n₀ votes.

    Promise: P[the radius is larger than the true one] ≤ α for every image, however the budget was shared out.

    Proof. Votes of an image are independent of its own pilot votes and of all votes of other images. Given all pilot
    votes the plan and with it n(e₀) are constants, and the bound of so many fresh votes fails with probability ≤ α:
    so it does on average over the pilots. There is one look and no top-up: once the pilot votes are known, so is the
    number of all votes, and it can be kept.
    """

    noise: Noise
    plan: tuple[int, ...]
    """n after 0, 1, …, n₀ errors of the pilot"""
    budget: int
    """votes of all images, those of the pilot included"""
    n: int = 100_000
    """most that one image may get"""
    alpha: float = 0.001
    bound: Bound = SINGLE
    label_aware: bool = False
    name: ClassVar[str] = "budget"
    floors_radii: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_drawable(self.n)
        require_enough(self.n, self.alpha)
        self.bound.require(self.noise)
        _require_pilot(self.n0)
        if not least_n(self.alpha) <= min(self.plan) <= max(self.plan) <= self.n:
            raise InputError(f"the plan must be of {least_n(self.alpha)} to {self.n} votes")

    @property
    def n0(self) -> int:
        return len(self.plan) - 1

    def require_affordable(self, images: int) -> None:
        """InputError where not even the pilot of so many images and the least n could be paid."""
        require_affordable(images, self.budget, self.alpha, self.n0)

    def shared_out(self, pilot_errors: Sequence[int]) -> Budgeted:
        """With the plan for images that had so many errors each among their n₀ pilot votes."""
        return replace(self, plan=share_out(pilot_errors, self.budget, self.alpha, self.n0, self.n))

    def next(self, evidence: Evidence) -> Ask | None:
        if not evidence.selection:
            return Ask("selection", self.n0)
        return None if evidence.looks else Ask("estimation", self.plan[evidence.pilot_errors])

    def radius(self, evidence: Evidence) -> float | None:
        return self.bound.radius(self.noise, [(evidence.looks[-1], self.alpha)])

    @property
    def largest(self) -> float:
        return self.bound.largest(self.noise, max(self.plan), self.alpha)

    def header(self) -> dict[str, Any]:
        said = {"procedure": self.name, "bound": self.bound.name, "budget": self.budget, "plan": list(self.plan)}
        return said | {"label_aware": self.label_aware, "n0": self.n0, "n": self.n, "alpha": self.alpha}


def unplanned(
    noise: Noise, budget: int, n0: int, n: int, alpha: float, bound: Bound = SINGLE, label_aware: bool = False
) -> Budgeted:
    """Before the pilot: n for everybody."""
    _require_pilot(n0)
    return Budgeted(noise, (n,) * (n0 + 1), budget, n, alpha, bound, label_aware)


def _require_pilot(n0: int) -> None:
    if not 1 <= n0 <= _MOST_PILOT_VOTES:
        raise InputError(f"n0 must be from 1 to {_MOST_PILOT_VOTES:,} where a budget is shared out, not {n0}")
