"""Statements about a whole set of images are false with probability at most 1 − confidence: exact sums, and end to end.

Seen red: one false certificate too few (images), α not subtracted (population), the upper instead of the lower bound,
N − t replaced by c, the error not divided among the radii, missing images left out of N.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.analysis.made import ABOUT, curve_about, results

from smoothcert.analysis.assured import assured
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError
from smoothcert.records.header import header_of
from smoothcert.stats import lower_bound
from smoothcert.stats.image_set import robust_images, robust_share

SETS = [(1, 0.1, 0.2), (7, 0.2, 0.05), (30, 0.001, 0.01), (30, 0.3, 0.01), (60, 0.02, 0.05)]  # N, α, δ


def law_of_certificates(robust: int, images: int, alpha: float, power: float = 1.0) -> np.ndarray:
    """P[c = 0, …, N]: robust images are certified with probability `power`, each of the others with α."""
    right = stats.binom.pmf(np.arange(robust + 1), robust, power)
    return np.convolve(right, stats.binom.pmf(np.arange(images - robust + 1), images - robust, alpha))


@pytest.mark.parametrize(("images", "alpha", "delta"), SETS)
def test_more_images_than_are_robust_are_claimed_with_probability_at_most_delta(images, alpha, delta):
    bound = np.array([robust_images(c, images, alpha, delta) for c in range(images + 1)])
    assert np.all(np.diff(bound) >= 0) and np.all(bound <= np.arange(images + 1))
    worst = 0.0
    for robust in range(images + 1):
        for power in (1.0, 0.9):
            for level in (alpha, alpha / 2):
                error = law_of_certificates(robust, images, level, power)[bound > robust].sum()
                assert error <= delta
                worst = max(worst, float(error))
    # One image more would be a false statement too often, for some number of robust images.
    greedy = [law_of_certificates(t, images, alpha)[bound + 1 > t].sum() for t in range(images)]
    assert max(greedy) > delta
    plain = np.arange(images + 1) - stats.binom.isf(delta * (1 - 1e-8), images, alpha)
    assert np.all(bound >= plain)  # never less than count minus quantile


@pytest.mark.parametrize(("images", "alpha", "delta"), SETS)
def test_a_larger_share_than_the_populations_is_claimed_with_probability_at_most_delta(images, alpha, delta):
    c = np.arange(images + 1)
    bound = np.array([robust_share(k, images, alpha, delta) for k in c])
    edges = np.clip(np.concatenate([bound * (1 - 1e-9), bound * (1 + 1e-9)]), 0, 1)
    worst = 0.0
    for share in [*np.linspace(0, 1, 41), *edges]:
        a = share + (1 - share) * alpha
        error = stats.binom.pmf(c, images, a)[bound > share].sum()
        assert error <= delta * (1 + 1e-6)  # 1e-9 below an edge the sum is δ but for rounding
        worst = max(worst, float(error))
    assert worst > 0.9 * delta  # and it is spent


@given(
    images=st.integers(1, 300),
    part=st.floats(0, 1),
    alpha=st.floats(1e-6, 0.3),
    deltas=st.tuples(*[st.floats(1e-6, 0.5)] * 2),
)
def test_bounds_lie_below_what_was_counted_and_fall_with_the_confidence(images, part, alpha, deltas):
    certified = round(part * images)
    low, high = (
        (robust_images(certified, images, alpha, d), robust_share(certified, images, alpha, d)) for d in sorted(deltas)
    )
    assert low[0] <= high[0] <= certified
    assert 0 <= low[1] <= high[1] <= certified / images


def test_end_to_end_neither_statement_fails_more_often_than_promised():
    """20,000 sets of 40 images, half of them just not robust: certified by Clopper–Pearson of 60 votes at α = 0.05.

    A valid bound turns this red with probability below 1e-6 (5 standard errors).
    """
    rng = np.random.default_rng(1934)
    n, alpha, delta, sets, images, share = 60, 0.05, 0.05, 20_000, 40, 0.5
    certified_from = int(np.argmax(lower_bound(np.arange(n + 1), n, alpha) > 0.7))  # "robust" means p > 0.7
    robust = rng.random((sets, images)) < share
    votes = rng.binomial(n, np.where(robust, 0.95, 0.7))
    certified = (votes >= certified_from).sum(axis=1)
    these = np.array([robust_images(c, images, alpha, delta) for c in range(images + 1)])[certified]
    population = np.array([robust_share(c, images, alpha, delta) for c in range(images + 1)])[certified]
    allowed = delta + 5 * math.sqrt(delta * (1 - delta) / sets)
    assert (these > robust.sum(axis=1)).mean() <= allowed
    assert delta / 10 < (population > share).mean() <= allowed


def test_the_radii_of_a_line_share_the_error_and_a_single_one_has_it_to_itself():
    made = results([1] * 40, [1] * 30 + [0] * 10, np.linspace(0.1, 1.9, 40))
    two = assured(made, [0.0, 1.0], 0.9)
    for r in (0.0, 1.0):
        certified = int(((made.radius >= r) & made.correct).sum())
        assert two.of_these_images[r] == robust_images(certified, 40, 0.001, (1 - 0.9) / 2) / 40
        assert two.of_the_population[r] == robust_share(certified, 40, 0.001, (1 - 0.9) / 2)
    alone = assured(made, [1.0], 0.9)
    assert alone.of_the_population[1.0] > two.of_the_population[1.0]


def test_an_image_that_is_not_in_the_log_counts_as_not_certified():
    made = results([1] * 40, [1] * 40, [1.0] * 40, about={**ABOUT, "selected": 80})
    found = assured(made, [0.5], 0.99)
    assert found.of_these_images[0.5] == robust_images(40, 80, 0.001, 1 - 0.99) / 80
    assert found.of_the_population[0.5] == robust_share(40, 80, 0.001, 1 - 0.99) < 0.5


def test_nothing_is_said_where_a_log_does_not_say_its_alpha_or_did_not_ask():
    unstated = Results("tsv", *np.ones((3, 4), np.int64), np.ones(4), np.ones(4, bool), header_of({}))
    assert assured(unstated, [0.5], 0.99).of_these_images == {0.5: None}
    grid = results([1] * 40, [1] * 40, [1.0] * 40, about=curve_about(0.0, 0.5, 1.0))
    found = assured(grid, [0.5, 0.75], 0.99)
    assert found.of_the_population == {0.5: robust_share(40, 40, 0.001, 1 - 0.99), 0.75: None}
    for bad in (0.0, 1.0, math.nan):
        with pytest.raises(InputError, match="confidence"):
            assured(grid, [0.5], bad)
