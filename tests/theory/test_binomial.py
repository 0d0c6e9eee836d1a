"""Clopper–Pearson keeps its level: summed over the binomial law, so nothing is sampled and nothing can be flaky."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smoothcert.errors import InputError
from smoothcert.stats import error_bound, least_n, lower_bound, top_two_p_value

ALPHAS = st.sampled_from([1e-6, 0.001, 0.01, 0.05, 0.2])


def chance_of_being_wrong(n, p, alpha, bound=lower_bound):
    k = np.arange(n + 1)
    return stats.binom.pmf(k, n, p)[bound(k, n, alpha) > p].sum()


@given(n=st.integers(1, 500), p=st.floats(0.001, 0.999), alpha=ALPHAS)
def test_lower_bound_is_wrong_with_probability_at_most_alpha(n, p, alpha):
    assert chance_of_being_wrong(n, p, alpha) <= alpha * (1 + 1e-9)


@given(n=st.integers(1, 500), p=st.floats(0.001, 0.999), alpha=ALPHAS)
def test_upper_bound_is_wrong_with_probability_at_most_alpha(n, p, alpha):
    k = np.arange(n + 1)
    assert stats.binom.pmf(k, n, p)[error_bound(k, n, alpha) < p].sum() <= alpha * (1 + 1e-9)


@pytest.mark.parametrize("alpha", [0.001, 0.05])
@pytest.mark.parametrize("n", [20, 137])
def test_the_level_is_used_up_so_a_bound_a_thousandth_higher_would_break_it(n, alpha):
    # Just below a value of the bound its error is largest: there it must reach α, and a bolder bound exceed it.
    bounds = lower_bound(np.arange(1, n + 1), n, alpha)
    worst = max(chance_of_being_wrong(n, b * (1 - 1e-12), alpha) for b in bounds)
    assert alpha * (1 - 1e-5) <= worst <= alpha
    bolder = [chance_of_being_wrong(n, b * 1.0005, alpha, lambda *a: 1.001 * lower_bound(*a)) for b in bounds]
    assert max(bolder) > alpha


@given(n=st.integers(1, 10**6), share=st.floats(0, 1), alpha=ALPHAS)
def test_bound_agrees_with_the_textbook_and_never_exceeds_it(n, share, alpha):
    k = round(share * n)
    textbook = stats.beta.ppf(alpha, k, n - k + 1) if k else 0.0
    assert lower_bound(k, n, alpha) == pytest.approx(textbook, rel=1e-5, abs=1e-12)
    assert lower_bound(k, n, alpha) <= textbook * (1 + 1e-9)


@pytest.mark.parametrize(("k", "n"), [(0, 10**6), (1, 10**6), (7, 100_000), (999, 130_000), (10**6 - 1, 10**6)])
def test_error_bound_keeps_its_level_in_fifty_digits(k, n):
    with mpmath.workdps(50):
        q = mpmath.mpf(float(error_bound(k, n, 0.001)))
        tail = probability_of_at_most(k, n, q)
        assert 0.001 * (1 - 1e-5) < tail <= 0.001


def probability_of_at_most(k, n, q):
    """P[Bin(n, q) ≤ k], term by term from whichever end is nearer."""
    if 2 * k > n:
        return 1 - probability_of_at_most(n - k - 1, n, 1 - q)
    term = total = (1 - q) ** n
    for i in range(k):
        term *= (n - i) * q / ((i + 1) * (1 - q))
        total += term
    return total


def test_bounds_of_none_and_of_all_have_their_closed_form():
    assert error_bound(0, 10**6, 0.001) == pytest.approx(-np.expm1(np.log(0.001) / 10**6), rel=1e-6)
    assert lower_bound(10**6, 10**6, 0.001) < 1
    assert lower_bound(0, 10**6, 0.001) == 0
    assert error_bound(10**6, 10**6, 0.001) == 1
    assert np.all(np.diff(lower_bound(np.arange(100_001), 100_000, 0.001)) >= 0)


@settings(max_examples=30)
@given(alpha=st.floats(1e-9, 0.4))
def test_least_n_is_the_first_that_can_certify(alpha):
    n = least_n(alpha)
    assert lower_bound(n, n, alpha) > 0.5
    assert n == 1 or lower_bound(n - 1, n - 1, alpha) <= 0.5


@given(first=st.integers(0, 300), second=st.integers(0, 300))
def test_top_two_p_value_is_the_two_sided_binomial_test(first, second):
    n = first + second
    expected = stats.binomtest(first, n, 0.5).pvalue if n else 1.0
    assert top_two_p_value(first, second) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bad", [(1, 2, 0.0), (1, 2, 1.0), (3, 2, 0.1), (-1, 2, 0.1), (0, 0, 0.1), (0.5, 2, 0.1)])
def test_counts_that_no_binomial_law_gives_are_refused(bad):
    with pytest.raises(InputError):
        lower_bound(*bad)
