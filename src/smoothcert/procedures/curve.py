"""`curve`: which radii of a grid are certified, with as few votes as that takes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import accumulate
from operator import and_
from typing import Any, ClassVar

import numpy as np

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.procedures.bound import PAIR, SINGLE, Bound
from smoothcert.procedures.evidence import Ask, Evidence
from smoothcert.procedures.radius import pair_radius, thresholds
from smoothcert.stats.group_sequential import SequentialTable, hard_cap, sequential_table, standing
from smoothcert.stats.pair import PairBound
from smoothcert.stats.pair_sequential import hopeless, levels, pair_at


@dataclass(frozen=True)
class Curve:
    """r_m = the largest radius of the grid all of whose hypotheses q ≥ q_0, …, q_m fell: level α, no union over radii.

    The radius is a point of the grid, not the most there is: good for certified accuracy at the grid's radii, never
    for an average. `n` is the fixed number of votes it competes with; up to 1.3 n are drawn, mostly far fewer.

    Label-aware: the class judged is the image's label, no selection votes are drawn, and the statement is "g = label
    within r": certified accuracy is a count of just these. An image for which it is not certified is recorded as
    abstained: whether g is wrong there or undecided is not asked, that is where the votes are saved.

    With `pair` a radius that takes many votes is judged by p̲1 and p̄2 at levels that add up to α over the looks, and
    one that takes almost unanimous votes by the single bound's exact table as before: there the second class adds
    nothing. Each radius still has one test of level α, fixed in advance, so the argument above holds: for the single
    test too, since σ/2 (Φ⁻¹(p_A) − Φ⁻¹(p_B)) < r implies p_A < Φ(r/σ).
    """

    noise: Noise
    radii: tuple[float, ...]
    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    bound: Bound = SINGLE
    label_aware: bool = False
    name: ClassVar[str] = "curve"
    floors_radii: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.bound.require(self.noise)
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
        if seen and self._standing(evidence)[1]:
            return None
        return Ask("estimation", int(self.table.looks[seen]))

    def radius(self, evidence: Evidence) -> float | None:
        certified, _ = self._standing(evidence)
        return self.radii[certified - 1] if certified else None

    def _standing(self, evidence: Evidence) -> tuple[int, bool]:
        """How many radii are certified, and whether to stop."""
        table, errors = self.table, [look.errors for look in evidence.looks]
        single = standing(table, errors)
        if self.bound != PAIR:
            return single.certified, single.stop
        bounds = (pair_at(look.n, level, *look[1:]) for look, level in zip(evidence.looks, self._levels, strict=False))
        reached = pair_radius(self.noise, reduce(PairBound.tighten, bounds))
        rejected = [
            bool(fell) if j >= self._paired else reached is not None and reached >= self.radii[j]
            for j, fell in enumerate(single.rejected)
        ]
        certified, now = sum(accumulate(rejected, and_)), evidence.looks[-1]
        if certified == len(rejected) or certified >= self._paired:
            return certified, bool(now.errors >= table.futile[certified, len(errors) - 1])
        goal, cap = float(table.z[certified]), int(table.caps[certified])
        last = self._levels[int(np.searchsorted(table.looks, cap))]
        return certified, hopeless(now.n, cap, last, now.errors, now.runner_up, goal)

    @cached_property
    def _levels(self) -> list[float]:
        return [float(level) for level in levels(self.table.looks, self.alpha)]

    @cached_property
    def _paired(self) -> int:
        """The first so many radii are judged by the pair: all but those that take almost unanimous votes."""
        return int((self.table.caps < hard_cap(self.n)).sum())

    @property
    def _fingerprint(self) -> str:
        """Of all numbers that decide."""
        if self.bound != PAIR:
            return self.table.fingerprint
        digest = hashlib.sha256(f"pair|{self.table.fingerprint}|{self._paired}|".encode())
        digest.update(np.array(self._levels, "<f8").tobytes())
        return digest.hexdigest()

    @property
    def largest(self) -> float:
        return self.radii[self.table.z.size - 1]

    def header(self) -> dict[str, Any]:
        said = {"procedure": self.name, "bound": self.bound.name, "radii": list(self.radii)}
        judged = {"label_aware": self.label_aware, "table": self._fingerprint}
        return said | judged | {"n0": 0 if self.label_aware else self.n0, "n": self.n, "alpha": self.alpha}


@lru_cache(maxsize=8)
def _table(z: tuple[float, ...], alpha: float, n: int) -> SequentialTable:
    if not z:
        raise InputError("no radius of the grid can be certified under this noise")
    return sequential_table(z, alpha, n)
