"""The anytime bound fails at ANY time with probability at most α, though it is read after every vote.

Seen red: one error missed; 1/α lowered by 0.1 %.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smoothcert.errors import InputError
from smoothcert.stats.binomial import error_bound
from smoothcert.stats.confidence_sequence import anytime_bound

ALPHAS = [1e-6, 0.001, 0.05, 0.2]


def first_failures(q: float, alpha: float, horizon: int) -> np.ndarray:
    """For k = 0, 1, …: the least n with q̄(k of n) < q, by bisection (q̄ falls with n); horizon + 1: never."""
    k = np.arange(int(horizon * q) + 1)
    low, high = np.maximum(k, 1), np.full(k.size, horizon + 1)
    while np.any(low < high):
        middle = (low + high) // 2
        fails = anytime_bound(k, middle, alpha) < q
        low, high = np.where(fails, low, middle + 1), np.where(fails, middle, high)
        low = np.minimum(low, high)
    return high


def ever_fails(first: np.ndarray, q: float, horizon: int, shift: int = 0) -> float:
    """P_q[q̄_n < q for some n ≤ horizon], exactly: walked vote by vote, failures are taken out."""
    mass, failed = np.zeros(first.size + shift + 1), 0.0
    mass[0] = 1.0
    for n in range(1, horizon + 1):
        mass = mass * (1 - q) + np.concatenate(([0.0], mass[:-1])) * q  # counts beyond can never fail: lost
        boundary = int(np.searchsorted(first, n, side="right"))
        if boundary:
            failed += mass[: boundary + shift].sum()
            mass[: boundary + shift] = 0.0
    return float(failed)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("z", [0.0, 0.5, 1.0, 2.0, 3.0])
def test_read_after_every_vote_it_ever_fails_with_at_most_alpha(z: float, alpha: float) -> None:
    for q in stats.norm.sf(z) * np.array([0.999, 1.0]):
        first = first_failures(q, alpha, 1000)
        assert np.all((np.diff(first) > 0) | (first[1:] == 1001))  # one error more takes more votes
        assert ever_fails(first, q, 1000) <= alpha


@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_error_missed_is_noticed(alpha: float) -> None:
    q = float(stats.norm.sf(1.0))
    first = first_failures(q, alpha, 1000)
    assert ever_fails(first, q, 1000, shift=1) > alpha


def mixture(k: int, n: int, q: mp.mpf) -> mp.mpf:
    """M_n(q), written anew: u = 0 has weight 1/4, logit u = −2, −1.5, …, 20 weights ∝ (logit u + 4)⁻³."""
    logits = [mp.mpf(i) / 2 for i in range(-4, 41)]
    total = mp.fsum((x + 4) ** -3 for x in logits)
    nodes = [(mp.mpf(1) / 4, mp.mpf(0))]
    nodes += [(3 * (x + 4) ** -3 / total / 4, 1 / (1 + mp.exp(-x))) for x in logits]
    return mp.fsum(w * u**k * ((1 - u * q) / (1 - q)) ** (n - k) for w, u in nodes)


def test_it_is_the_root_of_a_martingale_that_starts_at_one() -> None:
    with mp.workdps(60):
        q = mp.mpf("0.3")
        for n in (1, 7, 40):
            mean = mp.fsum(mp.binomial(n, k) * q**k * (1 - q) ** (n - k) * mixture(k, n, q) for k in range(n + 1))
            assert abs(mean - 1) < mp.mpf(10) ** -50
        cases = [
            (0, 1),
            (0, 50),
            (3, 40),
            (0, 100_000),
            (7, 100_000),
            (15_000, 100_000),
            (159_000_000, 10**9),
        ]
        for k, n in cases:
            for alpha in (1e-6, 0.2):
                bound = mp.mpf(float(anytime_bound(k, n, alpha)))
                assert mixture(k, n, bound) >= 1 / mp.mpf(alpha)  # what is excluded may be excluded
                assert mixture(k, n, bound * (1 - mp.mpf(10) ** -6)) < (1 + mp.mpf(10) ** -5) / alpha or n == 10**9


def test_read_after_every_thousand_votes_up_to_a_hundred_thousand_it_keeps_alpha() -> None:
    """Where Clopper–Pearson at full α would fail 13 times as often as promised (see test_group_sequential)."""
    alpha, q, mass, before, failed = 0.001, 0.1, np.ones(1), 0, 0.0
    for n in range(1000, 100_001, 1000):
        mass = np.convolve(mass, stats.binom.pmf(np.arange(401), n - before, q))
        before = n
        k = np.flatnonzero(mass[: int(n * q)] > 1e-14)  # with more errors than nq no bound is below q
        fails = k[anytime_bound(k, n, alpha) < q]
        failed += mass[fails].sum()
        mass[fails] = 0.0
    assert 0 < failed <= alpha


def test_it_is_wider_than_one_look_and_on_average_narrower_than_a_union_of_looks() -> None:
    """Radii in σ, against Clopper–Pearson at looks 10 · 1.2ⁱ with α_i ∝ (i + 16)⁻², Σ α_i = α = 0.001."""
    z, n = np.meshgrid([0.5, 1.0, 2.0, 3.0, 3.8], np.geomspace(100, 1e6, 41).round(), indexing="ij")
    k = (n * stats.norm.sf(z)).round()
    look = np.floor(np.log(n / 10) / math.log(1.2))
    seen = np.floor(10 * 1.2**look)
    shares = (np.arange(10_000) + 16.0) ** -2
    at_looks = [
        float(error_bound(round(e * s / m), s, 0.001 * shares[int(i)] / shares.sum()))
        for e, m, s, i in zip(k.flat, n.flat, seen.flat, look.flat, strict=True)
    ]
    anytime = -stats.norm.ppf(anytime_bound(k, n, 0.001))
    gain = anytime + stats.norm.ppf(np.reshape(at_looks, z.shape))
    assert np.all(anytime < -stats.norm.ppf(error_bound(k, n, 0.001)))
    assert gain.mean() > 0.04 and gain.min() > -0.025


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 10**6), share=st.floats(0, 1), alpha=st.floats(1e-6, 0.2))
def test_the_bound_rises_with_errors_and_falls_with_votes_and_alpha(n: int, share: float, alpha: float) -> None:
    k = int(n * share)
    here = anytime_bound(k, n, alpha)
    assert error_bound(k, n, alpha) <= here * (1 + 1e-6) and here <= 1
    assert anytime_bound(k, n + 1, alpha) <= here <= anytime_bound(k + 1, n + 1, alpha)
    assert here <= anytime_bound(k, n, alpha / 2)
    assert anytime_bound(n, n, alpha) == 1


def test_arrays_are_read_like_single_counts_and_bad_ones_refused() -> None:
    k, n = np.array([[0, 3], [10, 20]]), np.array([50, 100])
    many = anytime_bound(k, n, 0.001)
    assert many.shape == (2, 2) and many[1, 0] == anytime_bound(10, 50, 0.001)
    for bad in ((-1, 10, 0.1), (11, 10, 0.1), (0, 0, 0.1), (0.5, 10, 0.1), (0, 10, 0.0), (0, 10, 1.0)):
        with pytest.raises(InputError):
            anytime_bound(*bad)
