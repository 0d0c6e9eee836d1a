"""`adaptive` of older logs, which divide α between two looks (`test_two_looks.py` has the joint law): its error
is at most α for every pilot: summed over all counts, with and without top-up.

Seen red: one error missed at the planned look, at the top-up; either of the two looks at the full α.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.procedures.adaptive import Adaptive
from smoothcert.stats import error_bound
from smoothcert.stats.planning import VotePlan, plan_votes, top_up

ALPHAS = [1e-6, 0.001, 0.05, 0.2]
GRIDS: dict[str, tuple[float, ...]] = {
    "none": (),
    "one": (1.0,),
    "eight": tuple((np.arange(8) / 2).tolist()),
    "fifty": tuple(np.linspace(0, 4, 50).tolist()),
}
PILOTS = [0, 2, 20, 45]


def counts(n: int, q: float) -> np.ndarray:
    """Every count of Bin(n, q) but for tails of less than 1e-17."""
    reach = 9 * math.sqrt(n * q) + 45
    return np.arange(max(0, int(n * q - reach)), min(n, int(n * q + reach)) + 1)


def planned_bound(plan: VotePlan, e0: int, e: np.ndarray | int, at_cap: np.ndarray | int | None = None) -> np.ndarray:
    """q̄ after the planned look, and after a top-up where there was one."""
    first = error_bound(e, plan.planned(e0), plan.levels[0])
    return first if at_cap is None else np.minimum(first, error_bound(at_cap, plan.cap, plan.levels[1]))


def errors(plan: VotePlan, e0: int, q: float, shift: int = 0) -> tuple[float, float]:
    """P_q[q̄ < q | the pilot had e₀ errors], exactly: with the top-up rule, and if one always topped up.

    `shift` reads every bound as if so many errors had been missed.
    """
    n = plan.votes[e0]
    e = counts(n, q)
    p, wrong = stats.binom.pmf(e, n, q), planned_bound(plan, e0, np.maximum(e - shift, 0)) < q
    if not plan.z or wrong.all():
        return float(p[wrong].sum()), float(p[wrong].sum())
    # After a first look that was not wrong only the second bound can be, and it depends on its own count
    # alone: so it may be read beside the least such first look.
    least = int(e[~wrong][0])
    k = counts(plan.cap, q)
    k = k[k >= least]
    bad = k[planned_bound(plan, e0, max(least - shift, 0), np.maximum(k - shift, 0)) < q]
    later = stats.binom.cdf((bad.max() if bad.size else -1) - e, plan.cap - n, q)
    ruled = np.where(wrong, 1.0, np.where(top_up(plan, e0, e), later, 0.0))
    return float((p * ruled).sum()), float((p * np.where(wrong, 1.0, later)).sum())


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("grid", GRIDS)
def test_on_and_around_every_threshold_the_bound_fails_with_at_most_alpha(grid: str, alpha: float) -> None:
    plan = plan_votes(alpha, GRIDS[grid], exact=False)
    rates = stats.norm.sf(GRIDS[grid] or (0.0, 1.0, 2.5))
    rates = rates[:: max(1, len(rates) // 6)]
    for e0 in PILOTS:
        for i, q in enumerate(rates):
            factor = (0.999, 1.0, 1.001)[i % 3]
            assert max(errors(plan, e0, q * factor)) <= alpha


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("grid", ["none", "eight"])
def test_at_its_worst_the_bound_fails_with_at_most_alpha_and_one_count_more_is_noticed(grid: str, alpha: float) -> None:
    """Just above a value the bound can take its error is largest; with few errors one count weighs most."""
    plan = plan_votes(alpha, GRIDS[grid], exact=False)
    for e0 in PILOTS:
        for k in (0, 1, 3):
            q = float(planned_bound(plan, e0, k)) * (1 + 1e-9)
            share = 0.8 if plan.z else 1.0
            assert share * alpha * 0.999 < errors(plan, e0, q)[0] <= errors(plan, e0, q)[1] <= alpha
            assert errors(plan, e0, q, shift=1)[0] > alpha


@pytest.mark.parametrize("alpha", [0.001, 0.2])
def test_the_two_looks_together_would_break_alpha_at_full_alpha_each(alpha: float) -> None:
    plan = plan_votes(alpha, GRIDS["eight"], exact=False)
    n, cap, q = plan.votes[2], plan.cap, 0.02
    e = counts(n, q)
    first = stats.binom.cdf(e, n, q) <= alpha
    k = counts(cap, q)
    worst = k[stats.binom.cdf(k, cap, q) <= alpha].max()
    second = stats.binom.cdf(worst - e, cap - n, q)
    assert (stats.binom.pmf(e, n, q) * np.where(first, 1.0, second)).sum() > 1.2 * alpha


@settings(max_examples=20, deadline=None)
@given(
    alpha=st.floats(1e-6, 0.2),
    n0=st.integers(1, 60),
    n=st.integers(20, 2000),
    q=st.floats(0.001, 0.6),
    z=st.lists(st.floats(0, 4), max_size=4, unique=True),
)
def test_any_plan_keeps_alpha(alpha: float, n0: int, n: int, q: float, z: list[float]) -> None:
    plan = plan_votes(alpha, tuple(sorted(z)), n0, n, exact=False)
    assert len(plan.votes) == n0 + 1 and max(plan.votes) <= n < plan.cap
    for e0 in {0, n0 // 3, n0}:
        assert max(errors(plan, e0, q)) <= alpha


def test_a_better_pilot_of_a_promising_image_plans_more_votes() -> None:
    plan = plan_votes(0.001)
    assert plan.votes[0] == 100_000  # a certain image: only more votes show how certain
    assert plan.votes[0] > plan.votes[2] > plan.votes[20] > plan.votes[45] > plan.votes[60]
    assert plan.votes[100] <= 200  # a lost one
    cheap, dear = plan_votes(0.001, price=1e-7), plan_votes(0.001, price=1e-5)
    assert all(a >= b for a, b in zip(cheap.votes, dear.votes, strict=True))
    assert max(plan_votes(0.001, n=5000).votes) == 5000


def test_the_top_up_goes_for_radii_almost_reached_and_for_no_others() -> None:
    plan = plan_votes(0.001, GRIDS["eight"])
    n = plan.votes[20]
    e = np.arange(n)
    wanted = top_up(plan, 20, e)
    reached = (planned_bound(plan, 20, e)[:, None] <= stats.norm.sf(GRIDS["eight"]) * (1 - 1e-12)).sum(axis=1)
    for j in range(1, 8):
        band = np.flatnonzero(wanted & (reached == j))
        if band.size:  # fewest errors first: a run that starts where z_{j+1} was just missed
            assert band[0] == np.flatnonzero(reached == j)[0] and np.all(np.diff(band) == 1)
    assert wanted.sum() < 0.1 * n and wanted.any()
    assert not top_up(plan, 20, e)[reached == 8].any()
    assert not top_up(plan_votes(0.001), 20, e).any()  # no radii, no top-up
    assert bool(top_up(plan, 20, int(np.flatnonzero(wanted)[0])))  # one image at a time, too


def test_a_top_up_never_worsens_the_bound() -> None:
    plan = plan_votes(0.001, GRIDS["eight"])
    e = np.arange(0, 2000, 100)
    first = planned_bound(plan, 0, e)
    assert np.all(planned_bound(plan, 0, e, e) < first)
    assert np.all(planned_bound(plan, 0, e, e + 30_000) == first)


def test_bad_requests_are_refused() -> None:
    fine = {"alpha": 0.1, "radii": (1.0,), "n0": 100, "n": 1000}
    Adaptive(Gaussian(1.0), **fine)
    for bad in (
        {"alpha": 0.0},
        {"alpha": 1.5},
        {"radii": (1.0, 0.5)},
        {"radii": (math.nan,)},
        {"n0": 0},
        {"alpha": 0.001, "n": 9},
    ):
        with pytest.raises(InputError):
            Adaptive(Gaussian(1.0), **(fine | bad))
    plan = plan_votes(0.001, (1.0,))
    for pilot, errors in ((0, 10**6), (0, -1)):
        with pytest.raises(InputError):
            top_up(plan, pilot, errors)
