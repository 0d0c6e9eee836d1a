"""CERTIFY and PREDICT of Cohen et al. (2019) as pure functions of votes, and what any procedure certifies."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.smoothed.evidence import Counts, Evidence, Look, counts
from smoothcert.smoothed.paper import Paper
from smoothcert.smoothed.procedure import Procedure
from smoothcert.smoothed.radius import largest_radius, require_enough, round_down
from smoothcert.stats import top_two_p_value

__all__ = [
    "ABSTAIN",
    "Certificate",
    "Prediction",
    "certify",
    "conclude",
    "largest_radius",
    "predict",
    "require_enough",
    "round_down",
]

ABSTAIN = -1


@dataclass(frozen=True)
class Certificate:
    """g = label within `radius` of x in ℓ_{noise.norm}, or label = ABSTAIN: true with probability ≥ 1 − α.

    Carries all that it was computed from, so that anyone can compute it again without the model: see `follows`.
    """

    label: int
    radius: float
    alpha: float
    noise: Noise
    selection: Counts
    """n₀ votes per class, which chose the guess; empty where the label was given"""
    estimation: Counts
    """n fresh votes per class, which judged it"""
    seed: int | None = None
    index: int | None = None
    procedure: Procedure | None = None
    """which votes were asked for, and what they prove; with the single or the pair bound"""
    looks: tuple[Look, ...] = ()
    """what the procedure had seen whenever it decided to go on or to stop"""
    given: int | None = None
    """the image's label, where that was judged instead of a guess: the statement is then "g = given" or nothing"""

    @property
    def abstained(self) -> bool:
        return self.label == ABSTAIN

    @property
    def guess(self) -> int:
        """The class that was judged."""
        return self.evidence.judged

    @property
    def n0(self) -> int:
        return sum(self.selection)

    @property
    def n(self) -> int:
        return sum(self.estimation)

    @property
    def n_a(self) -> int:
        return self.estimation[self.guess]

    @property
    def votes(self) -> int:
        """All that were drawn for it."""
        return self.n0 + self.n

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.selection, self.estimation, self.looks, self.given)

    @property
    def follows(self) -> bool:
        """Whether the procedure asks for just these votes and gives just this; an edited certificate answers False."""
        if self.procedure is None:
            return False
        try:
            again = replace(conclude(self.procedure, self.evidence), seed=self.seed, index=self.index)
        except InputError:
            return False
        return again == self


@dataclass(frozen=True)
class Prediction:
    """g(x) = label, or ABSTAIN; a label other than g(x) is returned with probability ≤ α."""

    label: int
    p_value: float
    alpha: float
    votes: tuple[int, ...]
    seed: int | None = None
    index: int | None = None

    @property
    def abstained(self) -> bool:
        return self.label == ABSTAIN

    @property
    def n(self) -> int:
        return sum(self.votes)


def conclude(procedure: Procedure, evidence: Evidence) -> Certificate:
    """What the procedure certifies from these votes; votes it would not have asked for are refused."""
    asked(procedure, evidence)
    radius = procedure.radius(evidence)
    label, certified = (ABSTAIN, 0.0) if radius is None else (evidence.judged, radius)
    return Certificate(
        label,
        certified,
        procedure.alpha,
        procedure.noise,
        evidence.selection,
        evidence.estimation,
        procedure=procedure,
        looks=evidence.looks,
        given=evidence.given,
    )


def asked(procedure: Procedure, evidence: Evidence) -> None:
    """Retrace every question: a sample that went on after its end, or ended before it, proves nothing."""
    if procedure.label_aware != (evidence.given is not None):
        raise InputError("a class is given with the votes if and only if the procedure is label-aware")
    so_far = Evidence(given=evidence.given)
    if (ask := procedure.next(so_far)) is not None and ask.stage == "selection":
        if sum(evidence.selection) != ask.stop:
            raise InputError(f"{sum(evidence.selection)} selection votes where {ask.stop} are asked for")
        so_far = replace(so_far, selection=evidence.selection)
    elif evidence.selection:
        raise InputError("selection votes where none are asked for")
    if not evidence.possible or len(evidence.selection) not in (0, len(evidence.estimation)):
        raise InputError("the looks and the votes contradict each other")
    for i, look in enumerate(evidence.looks):
        ask = procedure.next(replace(so_far, looks=evidence.looks[:i]))
        if ask is None or ask.stop not in (0, look.n):
            wanted = "nothing more is" if ask is None else f"{ask.stop} are"
            raise InputError(f"{look.n} estimation votes where {wanted} asked for")
    if procedure.next(evidence) is not None:
        raise InputError("votes are missing: the procedure asks for more")


def certify(selection: ArrayLike, estimation: ArrayLike, noise: Noise, alpha: float) -> Certificate:
    """CERTIFY of Cohen et al. (2019): guess = argmax of n₀ votes, p̲ = Clopper–Pearson of n fresh ones, R = radius(p̲).

    With probability ≥ 1 − α over the estimation votes, either this abstains or g = label on the whole
    ℓ_{noise.norm} ball of this radius around x. Both sets of votes must be independent of each other.
    """
    chosen, judged = counts(selection), counts(estimation)
    if chosen.shape != judged.shape:
        raise InputError(f"selection has {len(chosen)} classes but estimation has {len(judged)}")
    procedure = Paper(noise, int(chosen.sum()), int(judged.sum()), alpha)
    return conclude(procedure, Evidence().selected(chosen).looked(judged))


def predict(votes: ArrayLike, alpha: float) -> Prediction:
    """PREDICT of Cohen et al. (2019): the top class if a two-sided test tells it from the second at level α."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie strictly between 0 and 1, not {alpha}")
    found = counts(votes)
    if found.sum() < 1:
        raise InputError("n must be at least 1")
    second, first = np.argsort(found, kind="stable")[-2:]
    p_value = top_two_p_value(int(found[first]), int(found[second]))
    return Prediction(int(first) if p_value <= alpha else ABSTAIN, p_value, alpha, tuple(map(int, found)))
