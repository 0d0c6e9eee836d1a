"""CERTIFY of Cohen et al. (2019): n₀ votes choose, n fresh ones judge, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.procedures.bound import SINGLE, Bound
from smoothcert.procedures.evidence import Ask, Evidence
from smoothcert.procedures.radius import require_enough
from smoothcert.stats import least_n


@dataclass(frozen=True)
class Fixed:
    """R = radius(p̲),  p̲ = Clopper–Pearson of n votes at level α: as many for every image.

    Logs and the command line call it "paper".

    Label-aware: an image for which the n₀ votes choose another class than its label counts nothing in a certified
    accuracy or an average radius, so it is recorded as abstained and gets the fewest votes there can be. All others
    have the votes and the radius that they would have had: both numbers are CERTIFY's own.
    """

    noise: Noise
    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    bound: Bound = SINGLE
    label_aware: bool = False
    name: ClassVar[str] = "paper"
    floors_radii: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_enough(self.n, self.alpha)
        self.bound.require(self.noise)
        if self.n0 < 1:
            raise InputError("n0 must be at least 1: the guess needs a vote")

    def next(self, evidence: Evidence) -> Ask | None:
        if not evidence.selection:
            return Ask("selection", self.n0)
        if evidence.looks:
            return None
        return Ask("estimation", self.n if self._chosen(evidence) else least_n(self.alpha))

    def radius(self, evidence: Evidence) -> float | None:
        if not self._chosen(evidence):
            return None
        return self.bound.radius(self.noise, [(evidence.looks[-1], self.alpha)])

    def _chosen(self, evidence: Evidence) -> bool:
        """Whether the class that is judged is the choice of the selection votes; only a label can be another one."""
        return evidence.judged == evidence.choice

    @property
    def largest(self) -> float:
        return self.bound.largest(self.noise, self.n, self.alpha)

    def header(self) -> dict[str, Any]:
        said: dict[str, Any] = {"procedure": self.name, "bound": self.bound.name}
        said |= {"label_aware": True} if self.label_aware else {}  # logs older than this choice do not say no
        return said | {"n0": self.n0, "n": self.n, "alpha": self.alpha}
