"""CERTIFY and PREDICT of Cohen et al. (2019) as pure functions of votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.stats import error_bound, least_n, top_two_p_value

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
    selection: tuple[int, ...]
    """n₀ votes per class, which chose the guess"""
    estimation: tuple[int, ...]
    """n fresh votes per class, which judged it"""
    seed: int | None = None
    index: int | None = None

    @property
    def abstained(self) -> bool:
        return self.label == ABSTAIN

    @property
    def guess(self) -> int:
        return int(np.argmax(self.selection))

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
    def follows(self) -> bool:
        """Whether class and radius follow from the votes; an edited certificate answers False."""
        again = certify(self.selection, self.estimation, self.noise, self.alpha)
        return (again.label, again.radius) == (self.label, self.radius)


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


def certify(selection: ArrayLike, estimation: ArrayLike, noise: Noise, alpha: float) -> Certificate:
    """CERTIFY of Cohen et al. (2019): guess = argmax of n₀ votes, p̲ = Clopper–Pearson of n fresh ones, R = radius(p̲).

    With probability ≥ 1 − α over the estimation votes, either this abstains or g = label on the whole
    ℓ_{noise.norm} ball of this radius around x. Both sets of votes must be independent of each other.
    """
    chosen, judged = _counts(selection), _counts(estimation)
    if chosen.shape != judged.shape:
        raise InputError(f"selection has {len(chosen)} classes but estimation has {len(judged)}")
    require_enough(int(judged.sum()), alpha)
    if chosen.sum() < 1:
        raise InputError("n0 must be at least 1: the guess needs a vote")
    guess, n = int(np.argmax(chosen)), int(judged.sum())
    q_a = float(error_bound(n - int(judged[guess]), n, alpha))  # 1 − p_A ≤ q_a, save with probability α
    label, radius = (ABSTAIN, 0.0) if q_a > 0.5 else (guess, round_down(noise.radius_from_error(q_a)))
    votes = (tuple(map(int, chosen)), tuple(map(int, judged)))
    return Certificate(label, radius, alpha, noise, *votes)


def predict(votes: ArrayLike, alpha: float) -> Prediction:
    """PREDICT of Cohen et al. (2019): the top class if a two-sided test tells it from the second at level α."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie strictly between 0 and 1, not {alpha}")
    counts = _counts(votes)
    if counts.sum() < 1:
        raise InputError("n must be at least 1")
    second, first = np.argsort(counts, kind="stable")[-2:]
    p_value = top_two_p_value(int(counts[first]), int(counts[second]))
    return Prediction(int(first) if p_value <= alpha else ABSTAIN, p_value, alpha, tuple(map(int, counts)))


def largest_radius(noise: Noise, n: int, alpha: float) -> float:
    """The radius of n unanimous votes: noise.radius(α^(1/n)). No image can get more from this n."""
    require_enough(n, alpha)
    return round_down(noise.radius_from_error(float(error_bound(0, n, alpha))))


def require_enough(n: int, alpha: float) -> None:
    """Refuse an n with which even unanimous votes certify nothing."""
    least = least_n(alpha)
    if n < least:
        raise InputError(f"n={n} votes can certify nothing at alpha={alpha:g}: use n >= {least}")


def round_down(radius: float) -> float:
    """A radius that arithmetic in float64 cannot have carried above the true one."""
    return float(np.nextafter(radius * (1 - 1e-9), 0.0)) if radius > 0 else 0.0


def _counts(votes: ArrayLike) -> NDArray[np.int64]:
    counts = np.asarray(votes)
    if counts.ndim != 1 or len(counts) < 2 or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise InputError("votes must be one list of whole numbers >= 0, one per class, for at least 2 classes")
    return counts.astype(np.int64)
