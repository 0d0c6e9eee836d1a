"""The error of `curve` is at most α: computed, not sampled, by a second implementation of its own.

Seen red: one count more at all looks, at the cap alone, in `standing`; spent α half forgotten; α or q_j 0.1 %
too large; radii certified out of order.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smoothcert.errors import InputError
from smoothcert.stats.binomial import error_bound
from smoothcert.stats.group_sequential import SequentialTable, error_rate, sequential_table, standing

ALPHAS = [1e-6, 0.001, 0.05, 0.2]
GRIDS = {
    "one": (1.0,),
    "zero": (0.0,),
    "eight": tuple((np.arange(8) / 2).tolist()),
    "fifty": tuple(np.linspace(0, 4, 50).tolist()),
}


@cache
def table_of(grid: str, alpha: float, n: int = 100_000) -> SequentialTable:
    return sequential_table(GRIDS[grid], alpha, n)


def binomial(n: int, q: float) -> tuple[int, np.ndarray]:
    """First count and probabilities of Bin(n, q), but for tails of less than 1e-25."""
    mean, reach = n * q, 12 * math.sqrt(n * q) + 70
    first, last = max(0, int(mean - reach)), min(n, int(mean + reach))
    return first, stats.binom.pmf(np.arange(first, last + 1), n, q)


def crossing(boundary: np.ndarray, looks: np.ndarray, q: float) -> float:
    """P_q[E_n ≤ a at some look]: probability mass over the error count, walked from look to look.

    Counts above the last boundary can never cross again: dropping them loses nothing. Counts that hold less
    than 1e-22 are dropped too; all of them together weigh less than the 1e-15 that is added in the end.
    """
    mass, low, before, crossed = np.ones(1), 0, 0, 0.0
    for n, a in zip(looks.tolist(), boundary.tolist(), strict=True):
        first, step = binomial(n - before, q)
        mass, low, before = np.convolve(mass, step), low + first, n
        counts = low + np.arange(mass.size)
        crossed += mass[counts <= a].sum()
        alive = np.flatnonzero((counts > a) & (counts <= boundary.max()) & (mass > 1e-22))
        if alive.size == 0:
            break
        mass, low = mass[alive[0] : alive[-1] + 1], low + int(alive[0])
    return float(crossed) + 1e-15


class Decisions(NamedTuple):
    """Of many images after a look."""

    rejected: np.ndarray  # (..., J): hand it to the next look
    certified: np.ndarray  # (...)
    stop: np.ndarray  # (...)


def decide(table: SequentialTable, look: int, errors: np.ndarray, rejected: np.ndarray | None = None) -> Decisions:
    """What `standing` says, look by look: `rejected` is the previous decision's, None before the first look."""
    now = np.asarray(errors)[..., None] <= table.accept.T[look]
    rejected = now if rejected is None else rejected | now
    certified = np.cumprod(rejected, axis=-1, dtype=np.int64).sum(axis=-1)
    return Decisions(rejected, certified, errors >= table.futile[certified, look])


def false_certificate(table: SequentialTable, q: float, false_from: int) -> float:
    """P_q[more than `false_from` radii are certified] by the whole procedure: `decide`, its stops and all."""
    paths, before, wrong = {(False,) * table.z.size: {0: 1.0}}, 0, 0.0
    for k, n in enumerate(table.looks.tolist()):
        first, step = binomial(n - before, q)
        arrived, paths, before = paths, {}, n
        for rejected, masses in arrived.items():
            low, high = min(masses), max(masses)
            dense = np.array([masses.get(e, 0.0) for e in range(low, high + 1)])
            mass = np.convolve(dense, step)
            errors = low + first + np.arange(mass.size)
            errors, mass = errors[(mass > 1e-22) & (errors <= n)], mass[(mass > 1e-22) & (errors <= n)]
            decision = decide(table, k, errors, np.tile(rejected, (errors.size, 1)))
            wrong += float(mass[decision.stop & (decision.certified > false_from)].sum())
            for i in np.flatnonzero(~decision.stop).tolist():
                state = paths.setdefault(tuple(decision.rejected[i].tolist()), {})
                state[int(errors[i])] = state.get(int(errors[i]), 0.0) + float(mass[i])
    assert not paths  # the last look stops every path
    return wrong + 1e-15


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("grid", GRIDS)
def test_every_threshold_is_crossed_with_probability_at_most_alpha(grid: str, alpha: float) -> None:
    table = table_of(grid, alpha)
    for z, boundary in zip(table.z, table.accept, strict=True):
        error = crossing(boundary, table.looks, stats.norm.sf(z))
        assert error <= alpha
        assert error > (0.9 if z < 3 else 0.5) * alpha  # little is wasted, but where one error weighs much


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("grid", ["one", "eight"])
def test_around_every_threshold_the_first_false_radius_is_rejected_with_at_most_alpha(grid: str, alpha: float) -> None:
    table = table_of(grid, alpha, 10_000)
    for q in [stats.norm.sf(z) * factor for z in table.z for factor in (0.9, 0.999, 1.0, 1.001, 1.1)]:
        first_false = int((stats.norm.sf(table.z) > q).sum())
        if first_false < table.z.size:
            assert crossing(table.accept[first_false], table.looks, q) <= alpha


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("grid", ["one", "eight"])
def test_the_whole_procedure_certifies_a_false_radius_with_at_most_alpha(grid: str, alpha: float) -> None:
    table = table_of(grid, alpha, 1000)
    for j, z in enumerate(table.z):
        for factor in (1.0, 1.02):
            assert false_certificate(table, stats.norm.sf(z) * factor, j) <= alpha


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("grid", GRIDS)
def test_one_more_error_at_every_look_is_noticed(grid: str, alpha: float) -> None:
    table = table_of(grid, alpha)
    for z, boundary in list(zip(table.z, table.accept, strict=True))[::7]:
        shifted = np.where(boundary >= 0, boundary + 1, -1)
        assert crossing(shifted, table.looks, stats.norm.sf(z)) > alpha


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("grid", ["one", "eight"])
def test_one_more_error_at_the_cap_alone_is_noticed(grid: str, alpha: float) -> None:
    """The boundary is the largest there is: what is not spent of α does not pay for one count more."""
    table = table_of(grid, alpha)
    for z, cap, boundary in zip(table.z, table.caps, table.accept, strict=True):
        shifted = boundary + (table.looks == cap)
        assert crossing(shifted, table.looks, stats.norm.sf(z)) > alpha


@pytest.mark.parametrize("alpha", [0.001, 0.2])
def test_in_fifty_digits_every_threshold_is_crossed_with_at_most_alpha(alpha: float) -> None:
    """The same promise for a small n without any floating point: vote by vote, Φ and all, with mpmath."""
    import mpmath as mp

    table = sequential_table([0.0, 0.7, 1.3], alpha, n=150)
    with mp.workdps(50):
        for z, cap, boundary in zip(table.z, table.caps, table.accept, strict=True):
            q, mass, crossed = mp.ncdf(-mp.mpf(float(z))), [mp.mpf(1)], mp.mpf(0)
            for n in range(1, cap + 1):
                right, wrong = [m * (1 - q) for m in mass] + [mp.mpf(0)], [mp.mpf(0)] + [m * q for m in mass]
                mass = [r + w for r, w in zip(right, wrong, strict=True)]
                for a in boundary[table.looks == n]:
                    crossed += mp.fsum(mass[: a + 1])
                    mass[: a + 1] = [mp.mpf(0)] * (int(a) + 1)
            assert crossed <= alpha
            assert crossed + mass[int(boundary[-1]) + 1] > alpha  # one count more would be too many
            assert crossing(boundary, table.looks, float(q)) == pytest.approx(float(crossed), rel=1e-9)


@settings(max_examples=50, deadline=None)
@given(sigma=st.floats(0.1, 2), radius=st.floats(0, 8))
def test_the_error_rate_of_a_radius_is_rounded_down(sigma: float, radius: float) -> None:
    """Also when r / σ was rounded first: below this rate the true radius is at least r, exactly."""
    import mpmath as mp

    with mp.workdps(40):
        exact = mp.ncdf(-mp.mpf(radius) / mp.mpf(sigma))
        rounded = mp.mpf(error_rate(radius / sigma))
        assert rounded < exact and (rounded > exact * (1 - mp.mpf("1e-11")) or radius / sigma > 10)


def test_naive_peeking_breaks_alpha() -> None:
    """Clopper–Pearson at the full α after every 1000 votes: the reason this module exists."""
    alpha, q, looks = 0.001, 0.1, np.arange(1000, 100_001, 1000)
    boundary = []
    for n in looks.tolist():
        k = np.arange(int(n * q - 6 * math.sqrt(n * q)), int(n * q))
        boundary.append(k[error_bound(k, n, alpha) < q].max())
    assert crossing(np.array(boundary[-1:]), looks[-1:], q) <= alpha  # once is fine
    assert crossing(np.array(boundary), looks, q) == pytest.approx(0.013, abs=0.001)  # a hundred times is not


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("grid", GRIDS)
def test_boundaries_have_the_shape_of_the_theory(grid: str, alpha: float) -> None:
    table = table_of(grid, alpha)
    assert np.all(np.diff(table.accept, axis=1) >= 0)  # errors only accumulate
    assert np.all(np.diff(table.accept[:, -1]) < 0)  # larger radii allow fewer errors
    before_cap = table.looks < table.caps[:, None]
    assert np.all((table.accept < table.futile[:-1])[before_cap])  # no count is both enough and hopeless
    assert np.all(table.futile[:-1][~before_cap] == 0)
    assert np.all(table.accept[:, -1] >= 0)
    assert table.unreachable.size == sum((1 - stats.norm.sf(z)) ** 130_000 > alpha * (1 - 1e-6) for z in GRIDS[grid])


@settings(max_examples=25, deadline=None)
@given(
    alpha=st.floats(1e-6, 0.2),
    n=st.integers(1, 3000),
    z=st.lists(st.floats(0, 6), min_size=1, max_size=6, unique=True),
)
def test_any_request_gives_a_valid_table(alpha: float, n: int, z: list[float]) -> None:
    table = sequential_table(sorted(z), alpha, n)
    assert table.z.tolist() + table.unreachable.tolist() == sorted(z)
    for value, boundary in zip(table.z, table.accept, strict=True):
        assert crossing(boundary, table.looks, stats.norm.sf(value)) <= alpha


def test_a_radius_out_of_reach_is_dropped_and_named() -> None:
    table = sequential_table([0.5, 9.0, 40.0], 0.001)
    assert (table.z.tolist(), table.unreachable.tolist()) == ([0.5], [9.0, 40.0])
    assert sequential_table([5.0], 0.001).looks.size == 0  # nothing to ask any vote for


@settings(max_examples=30, deadline=None)
@given(q=st.floats(0, 1), seed=st.integers(0, 2**32 - 1))
def test_a_whole_path_is_decided_like_one_look_after_the_other_and_fewer_errors_certify_more(
    q: float, seed: int
) -> None:
    table = table_of("eight", 0.001)
    rng = np.random.default_rng(seed)
    steps = np.diff(table.looks, prepend=0)
    more = rng.binomial(steps, q, size=(5, steps.size))
    fewer = rng.binomial(more, 0.9)
    many, best = None, None
    for k in range(steps.size):
        errors = more[:, : k + 1].sum(axis=1)
        many = decide(table, k, errors, None if many is None else many.rejected)
        best = decide(table, k, fewer[:, : k + 1].sum(axis=1), None if best is None else best.rejected)
        for i in range(5):
            one = standing(table, np.cumsum(more[i, : k + 1]).tolist())
            assert one.rejected.tolist() == many.rejected[i].tolist()
            assert (one.certified, one.stop) == (many.certified[i], many.stop[i])
        assert np.all(best.certified >= many.certified)
    assert many is not None and np.all(many.stop)


def test_a_radius_waits_for_all_smaller_ones_and_is_then_remembered() -> None:
    """Nested hypotheses cost no union only because a false certificate must reject the FIRST false radius."""
    table = SequentialTable(
        alpha=0.1,
        z=np.array([0.5, 1.0]),
        unreachable=np.array([]),
        caps=np.array([20, 20]),
        looks=np.array([10, 20]),
        accept=np.array([[-1, 5], [0, 0]]),
        futile=np.array([[9, 0], [9, 0], [0, 0]]),
    )
    first = standing(table, [0])  # rejects the larger radius' hypothesis only
    assert (first.rejected.tolist(), first.certified, first.stop) == ([False, True], 0, False)
    assert standing(table, [0, 3]).certified == 2  # though 3 errors would not reject it now
    assert standing(table, [1, 3]).certified == 1


def test_unanimous_votes_certify_everything_and_none_for_the_class_nothing() -> None:
    table = table_of("eight", 0.001)
    clean = int(np.flatnonzero(table.accept[-1] >= 0)[0])  # first look that certifies everything without errors
    assert standing(table, [0] * (clean + 1))[1:] == (8, True)
    assert standing(table, [50])[1:] == (0, True)


BAD_GRIDS = [[], [1, 1], [2, 1], [-1], [math.nan], [math.inf]]
BAD_NUMBERS = [(0, 100), (1, 100), (1e-12, 100), (math.nan, 100), (0.1, 0)]


@pytest.mark.parametrize(
    "z, alpha, n", [(z, 0.1, 100) for z in BAD_GRIDS] + [([1], *numbers) for numbers in BAD_NUMBERS]
)
def test_bad_requests_are_refused(z: list[float], alpha: float, n: int) -> None:
    with pytest.raises(InputError):
        sequential_table(z, alpha, n)


def test_the_fingerprint_depends_on_every_number_and_the_table_cannot_change() -> None:
    table = sequential_table([0.5, 1.0], 0.01, 500)
    assert table.fingerprint == sequential_table([0.5, 1.0], 0.01, 500).fingerprint
    seen = {table.fingerprint, replace(table, alpha=0.02).fingerprint}
    names = ("z", "caps", "looks", "accept", "futile")
    for name in names:
        array = getattr(table, name)
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 7
        seen.add(replace(table, **{name: array + 1}).fingerprint)
    assert len(seen) == 2 + len(names)
