"""Every procedure's radius is the textbook's at its own α: formulas written down again.

Seen red: each level 0.1 % too large, in Single, Pair, Fixed, Adaptive and Anytime; Pair's largest radius at all of α.
"""

from __future__ import annotations

import pytest
from scipy import stats

from smoothcert.noise import Gaussian
from smoothcert.procedures.adaptive import Adaptive
from smoothcert.procedures.anytime import Anytime
from smoothcert.procedures.bound import PAIR, SINGLE, Bound
from smoothcert.procedures.evidence import Evidence, Look
from smoothcert.procedures.fixed import Fixed
from smoothcert.stats.confidence_sequence import anytime_bound

SIGMA, ALPHA, RADII = 0.5, 0.001, (0.0, 0.25, 0.5, 0.75, 1.0)
LOOKS = [Look(1000, 80, 50), Look(1300, 99, 60)]
EXACT = {"rel": 1e-6}  # outward rounding takes less; a level 0.1 % too large adds 1e-5
BOUNDS = pytest.mark.parametrize("bound", [SINGLE, PAIR], ids=lambda bound: bound.name)


def upper(k: int, n: int, alpha: float) -> float:
    """Clopper & Pearson's upper bound on a rate, by the quantile of the beta law."""
    return float(stats.beta.ppf(1 - alpha, k + 1, n - k))


def textbook(bound: Bound, looks: list[tuple[Look, float]], upper=upper) -> float:
    if bound is SINGLE:
        return SIGMA * stats.norm.isf(min(upper(e, n, level) for (n, e, _), level in looks))
    first = min(upper(e, n, 0.9 * level) for (n, e, _), level in looks)
    second = min(first, *(upper(r, n, 0.1 * level) for (n, _, r), level in looks))
    return SIGMA / 2 * (stats.norm.isf(first) - stats.norm.ppf(second))


def evidence(*looks: Look, pilot_errors: int = 0) -> Evidence:
    n, errors, runner_up = looks[-1]
    estimation = (n - errors, runner_up, errors - runner_up)
    return Evidence((100 - pilot_errors, pilot_errors, 0), estimation, looks)


@BOUNDS
def test_certify_bounds_p_a_at_all_of_alpha(bound: Bound) -> None:
    found = Fixed(Gaussian(SIGMA), 100, 1000, ALPHA, bound).radius(evidence(LOOKS[0]))
    assert found == pytest.approx(textbook(bound, [(LOOKS[0], ALPHA)]), **EXACT)


@BOUNDS
@pytest.mark.parametrize("seen", [1, 2])
def test_adaptive_of_older_logs_spends_eight_and_two_tenths(bound: Bound, seen: int) -> None:
    old = Adaptive(Gaussian(SIGMA), RADII, 100, 1000, ALPHA, bound, exact=False)
    found = old.radius(evidence(*LOOKS[:seen]))
    levels = list(zip(LOOKS[:seen], (0.8 * ALPHA, 0.2 * ALPHA), strict=False))
    assert found == pytest.approx(textbook(bound, levels), **EXACT)


@BOUNDS
def test_anytime_reads_its_sequence_at_all_of_alpha(bound: Bound) -> None:
    def sequence(k: int, n: int, alpha: float) -> float:
        return float(anytime_bound(k, n, alpha))

    found = Anytime(Gaussian(SIGMA), 100, ALPHA, bound).radius(evidence(LOOKS[0]))
    assert found == pytest.approx(textbook(bound, [(LOOKS[0], ALPHA)], sequence), **EXACT)


@BOUNDS
def test_the_largest_radius_bounds_p_a_with_its_share_of_alpha_alone(bound: Bound) -> None:
    share = {"single": 1.0, "pair": 0.9}[bound.name]
    expected = SIGMA * stats.norm.isf(1 - (share * ALPHA) ** (1 / 1000))
    assert Fixed(Gaussian(SIGMA), 100, 1000, ALPHA, bound).largest == pytest.approx(expected, rel=1e-6)


@BOUNDS
@pytest.mark.parametrize("exact", [True, False])
def test_the_largest_radius_of_adaptive_is_that_of_unanimous_votes_at_the_better_look(
    bound: Bound, exact: bool
) -> None:
    share = {"single": 1.0, "pair": 0.9}[bound.name]
    looks = ((1000, 0.9 * ALPHA), (1300, ALPHA)) if exact else ((1000, 0.8 * ALPHA), (1300, 0.2 * ALPHA))
    expected = max(SIGMA * stats.norm.isf(1 - (share * level) ** (1 / n)) for n, level in looks)
    procedure = Adaptive(Gaussian(SIGMA), RADII, 100, 1000, ALPHA, bound, exact=exact)
    assert procedure.largest == pytest.approx(expected, **EXACT)
    if exact and bound is SINGLE:
        unanimous = procedure.radius(evidence(Look(1000, 0, 0), Look(1300, 0, 0)))
        assert unanimous == pytest.approx(expected, **EXACT)
