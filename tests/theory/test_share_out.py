"""A budget is never exceeded, and however it is shared out an image's error is at most α: summed over all votes.

Seen red: level 1.001 α, the plan that is just too dear, pilot votes not paid for, shares rounded up.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smoothcert.audit.exact_error import ALPHA, NOISE, ends, pair_error, single_error
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, Laplace
from smoothcert.procedures.bound import PAIR, SINGLE, bound_of
from smoothcert.procedures.budget import Budgeted, unplanned
from smoothcert.procedures.procedure import procedure_of
from smoothcert.stats import least_n
from smoothcert.stats.budget import share_out


@settings(max_examples=40, deadline=None)
@given(
    pilot=st.lists(st.integers(0, 30), min_size=1, max_size=60),
    mean=st.integers(0, 3000),
    alpha=st.sampled_from([1e-6, 0.001, 0.05]),
    n=st.sampled_from([200, 1000, 5000]),
)
def test_the_total_never_exceeds_the_budget_and_next_to_nothing_is_left(pilot, mean, alpha, n) -> None:
    n0, fewest = 30, least_n(alpha)
    budget = (n0 + fewest + mean) * len(pilot)
    plan = share_out(pilot, budget, alpha, n0, n)
    total = sum(n0 + plan[e] for e in pilot)
    assert len(plan) == n0 + 1 and min(plan) >= fewest and max(plan) <= n
    # rounding down leaves less than a vote an image; more is left only where nobody can use it
    free = share_out(pilot, 10**12, alpha, n0, n)
    assert budget - len(pilot) < total <= budget or all(plan[e] == free[e] for e in pilot)
    richer = share_out(pilot, budget + 50 * len(pilot), alpha, n0, n)
    assert sum(richer[e] for e in pilot) >= sum(plan[e] for e in pilot)


def test_votes_go_where_they_pay() -> None:
    pilot = [0] * 60 + [5] * 20 + [30] * 10 + [60] * 10
    plan = share_out(pilot, 100 * 1000, 0.001, 100, 100_000)
    assert plan[0] > plan[5] > plan[30] > plan[60] == least_n(0.001)  # a lost image gets no more than it must
    assert sum(100 + plan[e] for e in pilot) > 100 * 1000 - 100


@pytest.mark.parametrize("bound", ["single", "pair"])
@pytest.mark.parametrize("pilot", [(12, 0, 0), (9, 2, 1), (5, 4, 3)], ids=str)
@pytest.mark.parametrize("budget", [400, 900])
def test_whatever_was_shared_out_the_error_is_at_most_alpha(bound: str, pilot: tuple[int, ...], budget: int) -> None:
    """All votes of three classes; with one bound the error is just α at the n that was planned."""
    before = unplanned(NOISE, budget, 12, 60 if bound == "single" else 24, ALPHA, bound_of(bound))
    procedure = before.shared_out([0, 1, 3, 3, 7, 0, 12, 2, 0, 1])
    found = ends(procedure, pilot, bound == "pair")
    assert {sum(end.votes) for end in found} == {procedure.plan[sum(pilot[1:])]}
    error = single_error(found) if bound == "single" else pair_error(found)
    assert error <= ALPHA * (1 + 1e-9)
    assert bound == "pair" or error >= ALPHA * (1 - 1e-4)


def test_a_header_is_read_back_and_one_that_cannot_be_is_refused() -> None:
    for bound, aware in ((SINGLE, False), (PAIR, True)):
        procedure = unplanned(NOISE, 9_000, 20, 1000, 0.001, bound, aware).shared_out([0, 0, 4, 9])
        said = procedure.header()
        assert procedure_of(said, NOISE) == procedure and said["budget"] == 9_000 and said["n0"] == 20
        for bad in (
            {"plan": said["plan"][1:]},
            {"plan": [*said["plan"][1:], 2000]},
            {"plan": [*said["plan"][1:], 9]},
            {"plan": [*said["plan"][1:], 10.0]},
            {"plan": "all"},
            {"plan": []},
            {"budget": "much"},
            {"n": 10**9},
            {"procedure": "adaptive", "radii": [0.0]},
            {"bound": "triple"},
            {"label_aware": 1},
        ):
            with pytest.raises(InputError):
                procedure_of(said | bad, NOISE)
    with pytest.raises(InputError, match="budget"):
        procedure_of({"procedure": "paper", "bound": "single", "n0": 9, "n": 99, "alpha": 0.1, "budget": 3}, NOISE)


def test_what_cannot_be_paid_or_proved_is_refused() -> None:
    with pytest.raises(InputError, match="at least 440, or select fewer"):
        share_out([0, 1, 2, 3], 439, 0.001, 100, 1000)
    assert share_out([0, 1, 2, 3], 440, 0.001, 100, 1000)[:4] == (10,) * 4
    with pytest.raises(InputError, match="Gaussian noise only"):
        unplanned(Laplace(1.0), 10**6, 100, 1000, 0.001, PAIR)
    for n0 in (0, 10**6):
        with pytest.raises(InputError, match="n0"):
            unplanned(NOISE, 10**6, n0, 1000, 0.001)
    with pytest.raises(InputError, match="at most"):
        unplanned(NOISE, 10**9, 100, 10**8, 0.001)


def test_the_largest_radius_is_that_of_the_most_votes_planned() -> None:
    procedure = Budgeted(Gaussian(0.5), (500, 100), 10_000, 1000)
    assert procedure.largest == SINGLE.largest(Gaussian(0.5), 500, 0.001)
    assert np.isclose(procedure.largest, 0.5 * 2.2, atol=0.05)
