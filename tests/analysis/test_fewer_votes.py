"""Logs of different n made comparable: against votes that are really left out."""

import numpy as np
import pytest

from smoothcert.analysis.fewer_votes import certified_with_fewer_votes, votes_against, with_fewer_votes
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.stats import lower_bound

SIGMA, ALPHA = 0.5, 0.001


def radius(count, n):
    p = float(lower_bound(count, n, ALPHA))
    return max(0.0, Gaussian(SIGMA).radius_from_error(1 - p)) if p > 0.5 else 0.0


@pytest.mark.parametrize("n", [1000, 100_000])
@pytest.mark.parametrize("share", [0.55, 0.7, 0.9, 0.999, 1.0])
def test_all_votes_give_the_radius_back(n, share):
    mine = np.array([radius(round(share * n), n)])
    assert with_fewer_votes(mine, SIGMA, n, n) == pytest.approx(mine, abs=2e-6)


@pytest.mark.parametrize("share", [0.53, 0.6, 0.8, 0.99, 0.9999, 1.0])
def test_it_is_the_mean_over_votes_left_out_at_random(share):
    n, fewer, count = 20_000, 2_000, round(share * 20_000)
    rng = np.random.default_rng(0)
    left = rng.hypergeometric(count, n - count, fewer, size=20_000)
    radii = np.array([radius(k, fewer) for k in range(fewer + 1)])[left]
    found = with_fewer_votes(np.array([radius(count, n)]), SIGMA, n, fewer)[0]
    assert abs(found - radii.mean()) <= 5 * radii.std() / len(radii) ** 0.5 + 1e-9


def test_zero_stays_zero_and_three_digits_do_little():
    exact = np.array([0.0, radius(90_000, 100_000), radius(99_990, 100_000), radius(100_000, 100_000)])
    rounded = np.array([float(f"{r:.3}") for r in exact])
    found, exactly = (with_fewer_votes(r, SIGMA, 100_000, 10_000) for r in (rounded, exact))
    assert found[0] == 0 and found == pytest.approx(exactly, abs=5e-3)
    assert exactly[-1] == pytest.approx(radius(10_000, 10_000)) and exactly[-1] < exact[-1]


def test_more_votes_than_there_were_are_refused():
    with pytest.raises(InputError, match=r"of 100 votes 101 cannot be drawn"):
        with_fewer_votes(np.array([0.3]), SIGMA, 100, 101)


@pytest.mark.parametrize("share", [0.53, 0.6, 0.8, 0.99, 0.9999, 1.0])
def test_certified_accuracy_is_the_share_of_draws_that_reach_the_radius(share):
    """Drawn 20,000 times; a wrong share is accepted with probability below 10⁻⁶."""
    n, fewer, count = 20_000, 2_000, round(share * 20_000)
    left = np.random.default_rng(1).hypergeometric(count, n - count, fewer, size=20_000)
    radii = np.array([radius(k, fewer) for k in range(fewer + 1)])[left]
    at = [0.0, 0.1, 0.4, 1.0, 1.3]
    wanted = np.array([((radii >= r) & (radii > 0)).mean() for r in at])
    found = certified_with_fewer_votes(np.array([radius(count, n), 0.0]), SIGMA, n, fewer, at)
    assert np.abs(found[0] - wanted).max() <= 5 * 0.5 / 20_000**0.5 and not found[1].any()


def test_votes_follow_from_the_radius():
    counts = np.array([60_000, 90_000, 99_000, 99_990, 100_000])
    radii = np.array([radius(k, 100_000) for k in counts])
    assert votes_against(radii, SIGMA, 100_000).tolist() == (100_000 - counts).tolist()
