"""The sentence at the head of a page: a lower bound, at a radius that the results did not choose."""

import numpy as np
import pytest

from smoothcert.errors import InputError
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.report.claim import claim_of
from smoothcert.stats.image_set import robust_images, robust_share
from tests.analysis.made import ABOUT, curve_about, random_results, results


def test_it_counts_certificates_and_allows_for_wrong_ones():
    made = random_results(200)
    claim = claim_of(made, 0.75, 0.95)
    counted = int((made.correct & (made.predict != ABSTAIN) & (made.radius >= 0.75)).sum())
    assert (claim.certified, claim.images, claim.norm) == (counted, 200, "ℓ₂")
    assert claim.of_these_images == robust_images(counted, 200, 0.001, 0.05) / 200 <= counted / 200
    assert claim.of_the_population == pytest.approx(robust_share(counted, 200, 0.001, 0.05))
    assert claim.of_the_population < claim.of_these_images


def test_an_image_that_is_missing_counts_as_not_certified():
    some = results([1] * 50, [1] * 50, [2.0] * 50, about={**ABOUT, "selected": 100})
    assert claim_of(some).certified == 50 and claim_of(some).images == 100
    assert claim_of(some).of_these_images <= 0.5


@pytest.mark.parametrize(
    ("noise", "radius"),
    [
        ({"kind": "gaussian", "sigma": 0.25}, 0.25),
        ({"kind": "grid_gaussian", "sigma": 0.25}, 0.25),
        ({"kind": "laplace", "b": 0.3}, 0.3),
        ({"kind": "uniform", "w": 0.8}, 0.4),
        ({"kind": "grid_uniform", "w": 0.8}, 0.4),
    ],
)
def test_the_usual_radius_depends_on_the_noise_alone(noise, radius):
    assert {claim_of(random_results(seed=s, about={**ABOUT, "noise": noise})).radius for s in (0, 1)} == {radius}


def test_a_curve_log_answers_for_the_next_larger_radius_of_its_grid():
    made = random_results(about=curve_about(0.25, 0.75))
    assert claim_of(made).radius == claim_of(made, 0.6).radius == 0.75
    assert claim_of(made, 9.0).radius == 0.75 and claim_of(made, 0.1).radius == 0.25
    assert claim_of(made, 0.6).certified == np.sum(made.correct & (made.predict != ABSTAIN) & (made.radius >= 0.75))


def test_a_log_that_does_not_state_alpha_claims_nothing():
    claim = claim_of(random_results(name="mnist_gaussian_sigma0.50", about={}))
    assert claim.radius == 0.5 and claim.of_these_images is None and claim.of_the_population is None


@pytest.mark.parametrize("radius", [-0.1, float("nan"), float("inf")])
def test_a_radius_that_is_none_is_refused(radius):
    with pytest.raises(InputError, match="--radius must be a number"):
        claim_of(random_results(), radius)
