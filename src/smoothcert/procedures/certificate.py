"""What votes prove: certificates, by any procedure, as pure functions of the votes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from numpy.typing import ArrayLike

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.procedures.evidence import Counts, Evidence, Look, counts
from smoothcert.procedures.fixed import Fixed
from smoothcert.procedures.procedure import Procedure

ABSTAIN = -1


@dataclass(frozen=True)
class Certificate:
    """g = label within `radius` of x in ℓ_{noise.norm}, or label = ABSTAIN: true with probability ≥ 1 − α.

    Carries all that it was computed from, so that anyone can compute it again without the model: see `follows`.
    """

    label: int
    radius: float
    evidence: Evidence
    """the votes, and when the procedure looked at them"""
    procedure: Procedure
    """which votes were asked for, and what they prove"""
    seed: int | None = None
    index: int | None = None
    precision: str = "float32"
    """of f, which is part of what is certified"""
    rounded: bool = field(default=False, compare=False)
    """the image was not on the grid of its noise: this is about the nearest image that is"""
    residual: float = field(default=0.0, compare=False)
    """of grid noise: how far all its draws together are from their law, in total variation, at most"""

    @property
    def abstained(self) -> bool:
        return self.label == ABSTAIN

    @property
    def alpha(self) -> float:
        return self.procedure.alpha

    @property
    def error(self) -> float:
        """α + residual: the probability that it is false, where the noise is drawn exactly; of float noise only α."""
        return self.alpha + self.residual

    @property
    def noise(self) -> Noise:
        return self.procedure.noise

    @property
    def selection(self) -> Counts:
        """n₀ votes per class, which chose the guess or planned n; empty where none were drawn"""
        return self.evidence.selection

    @property
    def estimation(self) -> Counts:
        """n fresh votes per class, which judged it"""
        return self.evidence.estimation

    @property
    def looks(self) -> tuple[Look, ...]:
        """what the procedure had seen whenever it decided to go on or to stop"""
        return self.evidence.looks

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
    def follows(self) -> bool:
        """Whether the procedure asks for just these votes and gives just this; an edited certificate answers False."""
        try:
            return conclude(self.procedure, self.evidence, self.seed, self.index, self.precision) == self
        except InputError:
            return False


def conclude(
    procedure: Procedure,
    evidence: Evidence,
    seed: int | None = None,
    index: int | None = None,
    precision: str = "float32",
) -> Certificate:
    """What the procedure certifies from these votes; votes it would not have asked for are refused."""
    refuse_unasked(procedure, evidence)
    radius = procedure.radius(evidence)
    label, certified = (ABSTAIN, 0.0) if radius is None else (evidence.judged, radius)
    return Certificate(label, certified, evidence, procedure, seed, index, precision)


def refuse_unasked(procedure: Procedure, evidence: Evidence) -> None:
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
    procedure = Fixed(noise, int(chosen.sum()), int(judged.sum()), alpha)
    return conclude(procedure, Evidence().selected(chosen).looked(judged))
