"""What fresh votes prove against a certificate, and what all of them together prove against α."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from smoothcert.stats import top_two_p_value

BEYOND = (1.5, 3, 6, 12)  # so many `resolution`s beyond the boundary as the search saw it, one after another
JUDGED_MOST = 1 + len(BEYOND)  # points of one image: the most promising one inside the ball, and those
LEVEL = 0.001  # of the whole audit: for declaring any violation wrongly, and again for calling α broken


@dataclass(frozen=True)
class Judged:
    """Fresh votes at one x': is p_rival > p_c there? The rival was named by other votes, before these were drawn."""

    distance: float
    rival: int
    for_class: int
    for_rival: int
    n: int

    @property
    def p_value(self) -> float:
        return rival_p_value(self.for_class, self.for_rival)

    def row(self) -> dict[str, Any]:
        return asdict(self) | {"p_value": self.p_value}


def rival_p_value(for_class: int, for_rival: int) -> float:
    """P[Bin(n_c + n_b, ½) ≥ n_b]: the exact one-sided test of "p_c ≥ p_b", given how many votes fell on the two.

    >>> rival_p_value(0, 10) == 0.5**10
    True
    """
    return top_two_p_value(for_rival, for_class) / 2 if for_rival > for_class else 1.0


def resolution(scale: float, votes: int) -> float:
    """5 scale / √n: about how far beyond a boundary n votes can tell, by five standard errors.

    There p_b − p_c rises by about 1/scale per unit of length, and the votes know it to within 1/√n.
    """
    return 5 * scale / math.sqrt(votes)


def level_of_each(images: int) -> float:
    """Bonferroni over every point that may be judged: P[any violation declared that is none] ≤ LEVEL."""
    return LEVEL / (JUDGED_MOST * max(1, images))


def chance(violations: int, images: int, alpha: float) -> float:
    """P[V ≥ v],  V ~ Bin(N, α): how often as many of N certificates are wrong if each is with probability α.

    N counts the images that abstained as well, and they must have been chosen without regard to it: given that an
    image did not abstain, its certificate may be wrong with a probability above α.

    >>> round(chance(2, 100, 0.001), 6)
    0.004638
    """
    from scipy.special import bdtrc

    return 1.0 if violations == 0 else float(bdtrc(violations - 1, images, alpha))


@dataclass(frozen=True)
class AuditVerdict:
    """The audit as a whole. `sound` is False when α does not explain the violations at LEVEL."""

    images: int
    attacked: int
    abstained: int
    alpha: float
    violations: tuple[int, ...]
    """indices of images"""
    found: int
    """images with a confirmed x' of another class, wherever it lies"""
    median_ratio: float | None
    """of its distance to the certified radius"""
    least_ratio: float | None
    tried: int
    p_value: float

    @property
    def sound(self) -> bool:
        return self.p_value >= LEVEL


def verdict(rows: Sequence[dict[str, Any]], images: int, alpha: float) -> AuditVerdict:
    """Of all rows of an audit of `images` images; those without a row abstained."""
    violations = tuple(row["index"] for row in rows if row["violation"])
    ratios = [row["found"] / row["radius"] for row in rows if row["found"] is not None and row["radius"] > 0]
    return AuditVerdict(
        images=images,
        attacked=len(rows),
        abstained=images - len(rows),
        alpha=alpha,
        violations=violations,
        found=sum(row["found"] is not None for row in rows),
        median_ratio=float(np.median(ratios)) if ratios else None,
        least_ratio=min(ratios) if ratios else None,
        tried=sum(row["tried"] for row in rows),
        p_value=chance(len(violations), images, alpha),
    )
