"""CERTIFY and PREDICT keep their promise on classifiers whose smoothed version is known exactly."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, Laplace, Uniform
from smoothcert.procedures.certificate import ABSTAIN, certify, conclude
from smoothcert.procedures.evidence import Evidence
from smoothcert.procedures.prediction import predict
from smoothcert.procedures.procedure import build
from smoothcert.procedures.radius import largest_radius, round_down
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.stats import lower_bound

VOTES = st.lists(st.integers(0, 2000), min_size=2, max_size=6)


@given(n=st.integers(10, 400), p=st.floats(0.5, 0.9999))
def test_the_certified_radius_exceeds_the_true_one_with_probability_at_most_alpha(n, p):
    # A half-space with P[f(x+δ) = 0] = p has exactly the radius σ Φ⁻¹(p). Summed over the law of the votes.
    noise, alpha = Gaussian(0.7), 0.001
    wrong = 0.0
    for k in range(n + 1):
        certificate = certify([1, 0], [k, n - k], noise, alpha)
        if not certificate.abstained and certificate.radius > noise.sigma * stats.norm.ppf(p):
            wrong += stats.binom.pmf(k, n, p)
    assert wrong <= alpha * (1 + 1e-9)


def test_a_radius_larger_by_a_thousandth_would_break_the_promise():
    # p just below a value of the bound: the exact error is α there, so there is no room left.
    noise, alpha, n = Gaussian(1.0), 0.001, 50
    k = np.arange(n + 1)
    edges = lower_bound(k, n, alpha)
    for inflate, holds in ((1.0, True), (1.001, False)):
        radii = np.array([certify([1, 0], [a, n - a], noise, alpha).radius for a in k]) * inflate
        worst = 0.0
        for edge in edges[edges > 0.5]:
            true = stats.norm.ppf(edge) * (1 + 1e-6)
            worst = max(worst, stats.binom.pmf(k, n, stats.norm.cdf(true))[radii > true].sum())
        assert (worst <= alpha) == holds


@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.5), Uniform(1.0)], ids=repr)
def test_a_real_half_space_is_never_certified_beyond_its_margin(noise):
    margin = 0.4

    def f(x):  # class 0 while x₁ ≤ margin
        inside = (x[:, 0] <= margin).float()
        return torch.stack([inside, 1 - inside], 1)

    g = SmoothedClassifier(f, noise, 2, image_dims=1)
    certificates = g.certify_batch(torch.zeros(40, 3), n=2000, alpha=0.001, index=0)
    radii = np.array([c.radius for c in certificates])
    assert all(c.label == 0 for c in certificates)
    assert radii.max() <= margin  # fails by chance with probability ≤ 40 α = 0.04, at this seed not
    assert radii.mean() > 0.75 * margin


@given(selection=VOTES, data=st.data(), alpha=st.sampled_from([0.2, 0.001, 1e-6]))
def test_a_certificate_follows_from_its_votes_and_an_edited_one_does_not(selection, data, alpha):
    size = len(selection)
    estimation = data.draw(st.lists(st.integers(0, 2000), min_size=size, max_size=size))
    if sum(selection) < 1 or sum(estimation) < 25:
        return
    c = certify(selection, estimation, Gaussian(0.5), alpha)
    assert c.follows
    assert c.radius <= largest_radius(Gaussian(0.5), c.n, alpha)
    assert not replace(c, radius=c.radius * 1.000001 + 1e-9).follows
    assert not replace(c, label=(c.label + 1) % size if not c.abstained else c.guess).follows
    if not c.abstained:
        assert c.label == int(np.argmax(selection)) and estimation[c.label] * 2 > c.n


@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.5), Uniform(1.0)], ids=repr)
def test_a_class_is_named_as_soon_as_its_lower_bound_reaches_one_half_and_not_a_vote_earlier(noise):
    n, alpha = 100_000, 0.001
    votes = np.arange(50_000, 51_000)
    first = int(votes[np.argmax(lower_bound(votes, n, alpha) >= 0.5)])
    assert certify([1, 0], [first, n - first], noise, alpha).label == 0
    assert certify([1, 0], [first - 1, n - first + 1], noise, alpha).abstained


def test_the_guess_comes_from_the_selection_votes_alone():
    c = certify([10, 90], [100_000, 0], Gaussian(0.5), 0.001)
    assert (c.guess, c.label, c.n_a) == (1, ABSTAIN, 0)


def test_radius_is_rounded_down_and_matches_the_textbook():
    c = certify([0, 100], [1000, 99_000], Gaussian(0.5), 0.001)
    textbook = 0.5 * stats.norm.ppf(stats.beta.ppf(0.001, 99_000, 1001))
    assert c.radius == pytest.approx(textbook, rel=1e-6) and c.radius < textbook
    assert round_down(0.0) == 0.0 and round_down(1.0) < 1.0


@pytest.mark.parametrize(("alpha", "least"), [(0.001, 10), (0.2, 3), (1e-6, 20)])
def test_too_few_votes_are_refused_and_the_error_names_the_least_n(alpha, least):
    certify([1, 0], [least, 0], Gaussian(1.0), alpha)
    with pytest.raises(InputError, match=f"n >= {least}"):
        certify([1, 0], [least - 1, 0], Gaussian(1.0), alpha)
    with pytest.raises(InputError, match=f"n >= {least}"):
        SmoothedClassifier(lambda x: x, Gaussian(1.0), 2, image_dims=1).certify(
            torch.zeros(2), n=least - 1, alpha=alpha
        )


@pytest.mark.parametrize("bad", [([1, 0], [5, -5]), ([0, 0], [50, 0]), ([1, 0, 0], [50, 0]), ([1.5, 0], [50, 0])])
def test_votes_that_are_no_votes_are_refused(bad):
    with pytest.raises(InputError):
        certify(*bad, Gaussian(1.0), 0.001)


@pytest.mark.parametrize("p", [0.4, 0.5, 0.52, 0.6])
def test_predict_returns_a_wrong_class_with_probability_at_most_alpha(p):
    # Two classes, the first with probability p: exact over the law of the votes.
    n, alpha = 300, 0.05
    k = np.arange(n + 1)
    found = np.array([predict([a, n - a], alpha).label for a in k])
    top = 0 if p > 0.5 else 1
    wrong = stats.binom.pmf(k, n, p)[(found != top) & (found != ABSTAIN)].sum()
    assert wrong <= alpha / (1 if p == 0.5 else 2) * (1 + 1e-9)


@pytest.mark.parametrize(("first", "second"), [(9, 1), (60, 40), (300, 250)])
def test_predict_names_a_class_when_the_two_sided_test_has_level_alpha_and_not_a_thousandth_earlier(first, second):
    p_value = stats.binomtest(first, first + second).pvalue
    assert predict([second, first, 0], p_value * 1.0005).label == 1
    assert predict([second, first, 0], p_value * 0.9995).abstained


def test_votes_that_end_before_the_procedure_does_prove_nothing():
    procedure = build("curve", Gaussian(0.5), 20, 300, radii=(0.0, 0.5))
    begun = Evidence().selected([20, 0])
    n = procedure.next(begun).stop
    early = begun.looked([n - n // 4, n // 4])
    assert procedure.next(early) is not None
    with pytest.raises(InputError, match="votes are missing"):
        conclude(procedure, early)


@given(votes=VOTES)
def test_predict_names_the_top_class_or_abstains(votes):
    if sum(votes) < 1:
        return
    p = predict(votes, 0.001)
    assert p.abstained or votes[p.label] == max(votes)
    assert p.n == sum(votes)
