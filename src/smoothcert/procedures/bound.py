"""What looks at the votes prove about the radius: by the first class alone, or by the first two.

`radius` is the best one that all looks, each at its own level, prove together. The levels must add up to α over all
looks that may be taken, or `error_bound` must hold at all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from smoothcert.errors import InputError
from smoothcert.noise import AnyGaussian, Noise
from smoothcert.procedures.evidence import Look
from smoothcert.procedures.radius import largest_radius, pair_radius, single_radius
from smoothcert.stats import error_bound
from smoothcert.stats.pair import TOP_SHARE, ErrorBound, PairBound, pair_bound


@dataclass(frozen=True)
class Single:
    """R = radius(p̲),  p̲ the largest of the looks' lower bounds on p_A; the rest is taken to be the second class's."""

    name: ClassVar[str] = "single"

    def require(self, noise: Noise) -> None:
        """InputError where the theorem is not about this noise; this one is about all of them."""

    def radius(
        self, noise: Noise, looks: Iterable[tuple[Look, float]], error_bound: ErrorBound = error_bound
    ) -> float | None:
        return single_radius(noise, min(float(error_bound(look.errors, look.n, level)) for look, level in looks))

    def largest(self, noise: Noise, n: int, alpha: float) -> float:
        """The radius of n unanimous votes."""
        return largest_radius(noise, n, alpha)


@dataclass(frozen=True)
class Pair:
    """R = σ/2 (Φ⁻¹(p̲1) − Φ⁻¹(p̄2)),  each look's level split .9 / .1 between the two   [Cohen et al. 2019, eq. 3]."""

    name: ClassVar[str] = "pair"

    def require(self, noise: Noise) -> None:
        if not isinstance(noise, AnyGaussian):
            raise InputError(f"the pair bound is proved for Gaussian noise only, not for {noise}: use --bound single")

    def radius(
        self, noise: Noise, looks: Iterable[tuple[Look, float]], error_bound: ErrorBound = error_bound
    ) -> float | None:
        bounds = (pair_bound(look.errors, look.runner_up, look.n, level, error_bound) for look, level in looks)
        return pair_radius(noise, reduce(PairBound.tighten, bounds))

    def largest(self, noise: Noise, n: int, alpha: float) -> float:
        return largest_radius(noise, n, TOP_SHARE * alpha)


Bound = Single | Pair
SINGLE, PAIR = Single(), Pair()
BOUNDS: dict[str, Bound] = {SINGLE.name: SINGLE, PAIR.name: PAIR}


def bound_of(name: str) -> Bound:
    if name not in BOUNDS:
        raise InputError(f"bound must be single or pair, not {name!r}")
    return BOUNDS[name]
