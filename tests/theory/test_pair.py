"""The pair bound fails with probability at most α: summed over all counts for 2, 3 and 1000 classes.

Seen red: one error of the top class missed, one vote of the runner-up missed, the runner-up at the full α, the
weakest class taken for the runner-up.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smoothcert.stats.binomial import error_bound
from smoothcert.stats.confidence_sequence import anytime_bound
from smoothcert.stats.pair import PairBound
from smoothcert.stats.pair import pair_bound as pair_bound_of

Bound = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
ALPHAS = [1e-6, 0.001, 0.05, 0.2]


def shifted(k: np.ndarray, n: np.ndarray, alpha: float) -> np.ndarray:
    """A bound that misses one count."""
    return error_bound(np.maximum(np.asarray(k) - 1, 0), n, alpha)


def pair_bound(counts: object, top: object, alpha: float, bound: Bound = error_bound) -> PairBound:
    """From the votes of all classes, (..., K), and the class that is judged, (...)."""
    votes = np.asarray(counts)
    is_top = np.arange(votes.shape[-1]) == np.asarray(top)[..., None]
    n, n_a = votes.sum(-1), np.where(is_top, votes, 0).sum(-1)
    return pair_bound_of(n - n_a, np.where(is_top, -1, votes).max(-1), n, alpha, bound)


def fails(bound: PairBound, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where p̲1 is too high, and where p̄2 is too low; class 0 is the top one."""
    return bound.error < 1 - p[0], bound.runner_up < p[1:].max()


def three_classes(n: int) -> np.ndarray:
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    return np.stack([a, b, n - a - b], axis=-1)[a + b <= n]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n", [30, 2000])
def test_of_two_classes_the_bound_fails_with_nine_tenths_of_alpha(n: int, alpha: float) -> None:
    k = np.arange(n + 1)
    bound = pair_bound(np.stack([n - k, k], axis=-1), 0, alpha)
    assert np.array_equal(bound.error, bound.runner_up)  # the second class is the first one's error
    for e in (0, 1, 5, n // 10, n // 2):
        q = float(bound.error[e]) * (1 + 1e-9)  # just above a value it can take: where it fails most often
        p = stats.binom.pmf(k, n, q)
        wrong = p[bound.error < q].sum()
        assert 0.89 * alpha < wrong <= 0.9 * alpha
        if e < 6:
            missed = pair_bound(np.stack([n - k, k], axis=-1), 0, alpha, shifted)
            assert p[missed.error < q].sum() > alpha


@pytest.mark.parametrize("alpha", ALPHAS)
def test_of_three_classes_each_side_fails_with_its_share_of_alpha(alpha: float) -> None:
    n = 100
    counts = three_classes(n)
    bound = pair_bound(counts, 0, alpha)
    for second in (*error_bound(np.array([0, 2, 9]), n, 0.1 * alpha) * (1 + 1e-9), 0.1, 0.24):
        for third in (0.001, 0.4 * second, second):
            p = np.array([1 - second - third, second, third])
            mass = stats.multinomial.pmf(counts, n, p)
            high, low = fails(bound, p)
            assert mass[high].sum() <= 0.9 * alpha
            assert mass[~high & low].sum() <= 0.1 * alpha
            assert mass[high | low].sum() <= alpha


def none_above(t: int, n: int, p: np.ndarray, copies: np.ndarray) -> float:
    """P[max_c N_c ≤ t] for n multinomial votes over classes of probability p_c, each `copies` times.

    Independent Poisson counts, given their sum, are multinomial: truncate each at t, add up, divide.
    """
    total = np.ones(1)
    for rate, times in zip(n * p, copies, strict=True):
        power = stats.poisson.pmf(np.arange(min(t, n) + 1), rate)
        while times:
            if times % 2:
                total = np.convolve(total, power)[: n + 1]
            power, times = np.convolve(power, power)[: n + 1], times // 2
    return float(total[n] / stats.poisson.pmf(n, n)) if total.size > n else 0.0


def test_poisson_counts_given_their_sum_are_multinomial() -> None:
    p = np.array([0.5, 0.25])
    exact = sum(stats.multinomial.pmf(c, 6, [0.5, 0.25, 0.25]) for c in three_classes(6).tolist() if max(c) <= 3)
    assert none_above(3, 6, p, np.array([1, 2])) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_of_a_thousand_classes_each_side_fails_with_its_share_of_alpha(alpha: float) -> None:
    """A runner-up and 998 small classes, or 999 equal ones: the exact error of each side and of both."""
    n, k = 200, np.arange(1, 201)
    counts = np.zeros((n, 1000), np.int64)  # row k: k votes for the runner-up, one each for the next ones
    counts[:, 1] = k
    counts[:, 2:] = np.arange(998) < (n - k)[:, None]
    # the top class has no votes here, so that p̄2 is not capped: a function of the largest count alone
    seconds = pair_bound(counts, 0, alpha).runner_up, pair_bound(counts, 0, alpha, shifted).runner_up
    top = np.arange(n + 1)
    error = error_bound(n - top, n, 0.9 * alpha)
    worst = [float(seconds[0][t - 1]) * (1 + 1e-9) for t in (2, 5, 12)]  # just above values p̄2 can take
    for p_b, p_rest in (*((p, 0.0003) for p in worst), (0.2, 0.0001), (0.0005, 0.0005)):
        p_a = 1 - p_b - 998 * p_rest
        law = stats.binom.pmf(top, n, p_a)
        high = error < 1 - p_a
        low = []
        for second in seconds:
            few = int((second < p_b).sum())  # so many votes for every class, and p̄2 is below p_B
            rest = np.array([p_b, p_rest]) / (1 - p_a)
            low.append(np.array([none_above(few, n - a, rest, np.array([1, 998])) for a in top.tolist()]))
        assert law[high].sum() <= 0.9 * alpha
        assert (law * np.where(high, 1.0, low[0])).sum() <= alpha
        assert law @ low[0] <= 0.1 * alpha
        if p_b in worst:  # its share of α is really spent, so that one count missed is noticed
            assert law @ low[0] > 0.09 * alpha and law @ low[1] > 0.1 * alpha


@pytest.mark.parametrize("p_b", [0.3, 0.0005])
def test_of_a_thousand_classes_drawn_at_random_no_more_than_alpha_fail(p_b: float) -> None:
    """5,000 draws, α = 0.2: a valid bound turns this red with probability below 1e-6 (5 standard errors)."""
    rng = np.random.default_rng(2020)
    p = np.full(1000, 0.0005)
    p[1] = p_b
    p[0] = 1 - p[1:].sum()
    wrong = 0
    for _ in range(5):
        high, low = fails(pair_bound(rng.multinomial(300, p, size=1000), 0, 0.2), p)
        wrong += int((high | low).sum())
    assert wrong / 5000 <= 0.2 + 5 * math.sqrt(0.2 * 0.8 / 5000)


def failures(bounds: dict[int, PairBound], p: np.ndarray) -> float:
    """P[either side fails at one of these looks], three classes, walked vote by vote."""
    horizon = max(bounds)
    mass, wrong = np.zeros((horizon + 1, horizon + 1)), 0.0  # over (n_A, n_B)
    mass[0, 0] = 1.0
    for n in range(1, horizon + 1):
        step = mass * p[2]
        step[1:] += mass[:-1] * p[0]
        step[:, 1:] += mass[:, :-1] * p[1]
        mass = step
        if n in bounds:
            high, low = fails(bounds[n], p)
            a, b, _ = three_classes(n)[high | low].T
            wrong += mass[a, b].sum()
            mass[a, b] = 0.0
    return float(wrong)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_read_again_and_again_both_sides_together_fail_with_at_most_alpha(alpha: float) -> None:
    """Both ways: the anytime bound after every vote, and preset looks that share α."""
    anytime = {n: pair_bound(three_classes(n), 0, alpha, anytime_bound) for n in range(1, 31)}
    looks = {n: pair_bound(three_classes(n), 0, alpha / 4) for n in (10, 20, 30, 40)}
    for p in ([0.7, 0.2, 0.1], [0.5, 0.49, 0.01], [0.3, 0.3, 0.4]):
        assert failures(anytime, np.array(p)) <= alpha
        assert failures(looks, np.array(p)) <= alpha


def test_reading_it_at_full_alpha_after_every_vote_breaks_alpha() -> None:
    naive = {n: pair_bound(three_classes(n), 0, 0.05) for n in range(1, 61)}
    assert failures(naive, np.array([0.7, 0.2, 0.1])) > 2 * 0.05


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 10_000), min_size=2, max_size=12).filter(lambda c: sum(c) > 0),
    alpha=st.floats(1e-6, 0.2),
)
def test_it_is_ordered_and_moves_the_right_way(counts: list[int], alpha: float) -> None:
    bound = pair_bound(counts, 0, alpha)
    assert 0 < bound.runner_up <= bound.error <= 1
    assert bound.runner_up >= max(counts[1:]) / sum(counts) and bound.error >= 1 - counts[0] / sum(counts)
    assert bound.error >= error_bound(sum(counts) - counts[0], sum(counts), alpha)  # the price of a second side
    better = pair_bound([counts[0] + 1, *counts[1:]], 0, alpha)
    assert better.error <= bound.error and better.runner_up <= bound.runner_up
    both = bound.tighten(better)
    assert (both.error, both.runner_up) == (better.error, better.runner_up)
    assert pair_bound(counts[::-1], len(counts) - 1, alpha) == bound  # the class may stand anywhere


def test_a_weak_second_class_enlarges_the_radius() -> None:
    counts = [60_000, *[4_000] * 10]
    pair, single = pair_bound(counts, 0, 0.001), error_bound(40_000, 100_000, 0.001)
    radius = (stats.norm.isf(pair.error) - stats.norm.ppf(pair.runner_up)) / 2
    assert radius > 3 * stats.norm.isf(single)


def test_many_images_are_bounded_like_one() -> None:
    counts = np.array([[90, 10, 0], [5, 5, 90]])
    many = pair_bound(counts, [0, 2], 0.01)
    for i, top in enumerate((0, 2)):
        one = pair_bound(counts[i], top, 0.01)
        assert (one.error, one.runner_up) == (many.error[i], many.runner_up[i])
