"""What votes of a few images say, where the answer is known: half-spaces, whose radius is their margin."""

import numpy as np
import pytest
from scipy.stats import norm

from smoothcert.certification.advice import WORTH, Measured, advise_on, largest_radius, measure
from smoothcert.stats import lower_bound

SIGMAS = (0.12, 0.25, 0.5, 1.0)


@pytest.mark.parametrize("sigma", SIGMAS[1:])
def test_a_half_space_is_expected_to_be_certified_up_to_its_margin(sigma):
    """p_A = Φ(margin/σ): the estimate tells margins 0.05 % above the radius from those 0.05 % below."""
    n, margins = 10**10, np.array([0.5 * 1.0005, 0.5 * 0.9995, 0.9, 0.1])
    right = np.rint(n * norm.cdf(margins / sigma)).astype(np.int64)
    votes, labels = np.stack([right, n - right], 1), np.zeros(4, np.int64)
    found = measure(votes, labels, sigma, 0.5, 1.0, False)
    assert found.certified == 0.5 and found.noisy == pytest.approx(norm.cdf(margins / sigma).mean(), rel=1e-6)
    assert measure(votes[:, ::-1], labels, sigma, 0.0, 1.0, False).certified == 0  # all for the wrong class


def test_nothing_is_expected_beyond_what_the_votes_of_a_certification_reach():
    unanimous, labels = np.array([[10**7, 0]] * 3), np.zeros(3, np.int64)
    for sigma in SIGMAS:
        reach = sigma * norm.ppf(float(lower_bound(100_000, 100_000, 0.001)))
        assert largest_radius(sigma) == pytest.approx(reach) == pytest.approx(3.81 * sigma, abs=0.005)
        assert measure(unanimous, labels, sigma, reach * 0.999, 1.0, False).certified == 1
        assert measure(unanimous, labels, sigma, reach * 1.001, 1.0, False).certified == 0


def test_few_unanimous_votes_show_no_more_than_they_can():
    """Half-spaces whose radius is 3 σ give 100 of 100 votes nearly always, and must not pass for 3.5 σ."""
    sigma, draws, labels = 0.25, np.random.default_rng(0), np.zeros(2000, np.int64)
    for votes, margin, radius in ((100, 3.0, 3.5), (100, 3.0, 2.59), (10**7, 3.45, 3.5)):
        right = draws.binomial(votes, norm.cdf(margin), 2000)
        found = measure(np.stack([right, votes - right], 1), labels, sigma, radius * sigma, 1.0, False)
        assert found.certified == 0 and found.noisy == pytest.approx(norm.cdf(margin), abs=1e-3)
    right = draws.binomial(10**7, norm.cdf(3.55), 2000)
    assert measure(np.stack([right, 10**7 - right], 1), labels, sigma, 3.5 * sigma, 1.0, False).certified > 0.99
    shown = norm.ppf(100.5 / 101)
    for part, wanted in ((0.999, 1), (1.001, 0)):
        unanimous = np.array([[100, 0]])
        assert measure(unanimous, labels[:1], sigma, part * shown * sigma, 1.0, False).certified == wanted


def test_half_of_the_votes_certify_nothing_not_even_radius_0():
    assert measure(np.array([[50, 50], [51, 49]]), np.zeros(2, np.int64), 0.5, 0.0, 1.0, False).certified == 0.5


def ways(plain, behind=None, clean_behind=0.98):
    """Measured at two σ; `behind` a denoiser."""
    found = [Measured(s, False, 0.98, c, c, largest_radius(s)) for s, c in zip((0.25, 0.5), plain, strict=True)]
    for s, c in zip((0.25, 0.5), behind or (), strict=False):
        found.append(Measured(s, True, clean_behind, c, c, largest_radius(s)))
    return found


def advice(measured, clean=0.98, radius=0.5, tunable=True):
    return advise_on(measured, clean, radius, 10, 200, 100, tunable)


def test_the_rule():
    """As is or denoiser, the better one, if it keeps 80 % of the clean accuracy; else fine-tune, else train."""
    just, below = WORTH * 0.98 + 1e-9, WORTH * 0.98 - 1e-9
    assert (advice(ways((just, 0.1))).way, advice(ways((0.1, just))).sigma) == ("as is", 0.5)
    assert advice(ways((0.95, 0.1), (0.1, 0.95))).way == "as is"  # as good without more
    assert advice(ways((just, 0.1), (0.95, 0.97))).way == "denoiser"
    found = advice(ways((below, 0.1), (0.2, just)))
    assert (found.way, found.sigma, found.best(denoised=True).certified) == ("denoiser", 0.5, just)
    assert advice(ways((below, below), (below, below))).way == "fine-tune"
    assert advice(ways((below, below)), tunable=False).way == "train"
    assert advice(ways((0, 0)), radius=0.5).sigma == 0.25 and advice(ways((0, 0)), radius=0.9).sigma == 0.5
    assert advice(ways((0, 0)), radius=1.5).sigma == 0.5 and not advice(ways((0, 0))).warnings


def test_a_wrong_scale_is_noticed():
    found = advice(ways((0.1, 0.1)), clean=0.14)
    assert found.way == "check the input" and "near chance" in found.warnings[0] and "range" in found.warnings[0]
    assert advice(ways((0.1, 0.1)), clean=0.25).way != "check the input"
    found = advice(ways((0.1, 0.1), (0.1, 0.1), clean_behind=0.3))
    assert found.way == "fine-tune" and "from 98 to 30 % at σ = 0.25" in found.warnings[0]
    assert "[−1, 1]" in found.warnings[0] and not advice(ways((0.1, 0.1), (0.5, 0.5), clean_behind=0.9)).warnings


def test_a_radius_out_of_reach_is_said():
    (said,) = advice(ways((0, 0)), radius=2.0).warnings
    assert "no σ up to 0.5 can certify radius 2" in said


def test_a_radius_that_so_few_votes_cannot_show_is_said():
    (said,) = advice(ways((0, 0)), radius=1.3).warnings
    assert "100 votes show radii up to 2.58 σ, which is less than 1.3" in said
    assert not advice(ways((0, 0)), radius=1.28).warnings
