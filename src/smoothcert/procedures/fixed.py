"""CERTIFY of Cohen et al. (2019): n₀ votes choose, n fresh ones judge, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.procedures.bound import SINGLE, Bound
from smoothcert.procedures.evidence import Ask, Evidence
from smoothcert.procedures.radius import require_enough


@dataclass(frozen=True)
class Fixed:
    """R = radius(p̲),  p̲ = Clopper–Pearson of n votes at level α: as many for every image.

    Logs and the command line call it "paper".
    """

    noise: Noise
    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    bound: Bound = SINGLE
    name: ClassVar[str] = "paper"
    label_aware: ClassVar[bool] = False
    floors_radii: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_enough(self.n, self.alpha)
        self.bound.require(self.noise)
        if self.n0 < 1:
            raise InputError("n0 must be at least 1: the guess needs a vote")

    def next(self, evidence: Evidence) -> Ask | None:
        if not evidence.selection:
            return Ask("selection", self.n0)
        return None if evidence.looks else Ask("estimation", self.n)

    def radius(self, evidence: Evidence) -> float | None:
        return self.bound.radius(self.noise, [(evidence.looks[-1], self.alpha)])

    @property
    def largest(self) -> float:
        return self.bound.largest(self.noise, self.n, self.alpha)

    def header(self) -> dict[str, Any]:
        return {"procedure": self.name, "bound": self.bound.name, "n0": self.n0, "n": self.n, "alpha": self.alpha}
