"""The gate lets through what does not hold with probability at most 1 − confidence: exact sums over all counts.

Seen red: the count instead of its bound, the bound of these images for the population's, ψ⁻ and ψ⁺ exchanged, θ⁻ at
2 δ, "only one" and "only other" exchanged, a two-sided level, missing images left out. Not noticed: δ for θ⁻ and for
ψ± each, because the bound has that much to spare at so few images; there the proof is what counts.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.analysis.made import ABOUT, curve_about, results

from smoothcert.analysis.gate import at_least, no_worse
from smoothcert.errors import InputError
from smoothcert.records.header import Data
from smoothcert.records.selection import Selection
from smoothcert.stats.paired_shares import paired_difference_bound

ALPHA = 0.05


def of(radii, images=None, every=1, **options):
    """A log with these radii, all correct; None: the image is missing."""
    here = [(i * every, r) for i, r in enumerate(radii) if r is not None]
    index, radius = zip(*here, strict=True)
    ones = [1] * len(here)
    made = results(ones, ones, radius, index=index, **{"about": {**ABOUT, "alpha": ALPHA}} | options)
    data, selection = Data("fake", "test", images or len(radii) * every, "0" * 64), Selection(every)
    return replace(made, header=replace(made.header, data=data, selection=selection, selected=len(radii)))


@pytest.mark.parametrize(("images", "required", "confidence"), [(30, 0.5, 0.95), (45, 0.8, 0.9), (20, 0.3, 0.99)])
def test_a_share_of_the_population_below_the_required_one_passes_with_probability_1_minus_confidence_at_most(
    images, required, confidence
):
    certified = np.arange(images + 1)
    logs = [of([1.0] * c + [0.2] * (images - c)) for c in certified]
    passes = np.array([at_least(log, 0.5, required, confidence).holds for log in logs])
    assert passes.any() and not passes.all() and np.all(np.diff(passes.astype(int)) >= 0)
    worst = 0.0
    for robust in (required * (1 - 1e-12), 0.9 * required, 0.5 * required):
        seen = robust + (1 - robust) * ALPHA  # an image that is not robust is certified with probability α at most
        worst = max(worst, float(stats.binom.pmf(certified, images, seen)[passes].sum()))
    assert worst <= 1 - confidence
    # and a gate that lets one count more pass would err too often
    least = int(np.argmax(passes))
    seen = required + (1 - required) * ALPHA
    assert stats.binom.sf(least - 2, images, seen) > 1 - confidence


@pytest.mark.parametrize(("images", "required"), [(20, 0.5), (25, 0.8)])
def test_a_share_of_these_images_below_the_required_one_passes_with_probability_1_minus_confidence_at_most(
    images, required
):
    logs = [of([1.0] * c + [0.2] * (images - c)) for c in range(images + 1)]
    passes = np.array([at_least(log, 0.5, required, 0.95, "images").holds for log in logs])
    robust = int(np.ceil(required * images)) - 1  # the most that fall short
    wrong = stats.binom.pmf(np.arange(images - robust + 1), images - robust, ALPHA)
    assert 0 < wrong[passes[robust:]].sum() <= 0.05
    alone = [at_least(log, 0.5, required).holds for log in logs]
    assert np.all(passes >= alone) and passes.sum() > sum(alone)


def trinomial(images, p, q):
    """P[only one = i, only other = j] for all i and j."""
    i, j = np.mgrid[: images + 1, : images + 1]
    mass = np.zeros_like(i, float)
    inside = i + j <= images
    cells = np.stack([i[inside], j[inside], images - i[inside] - j[inside]], axis=1)
    mass[inside] = stats.multinomial.pmf(cells, images, [p, q, 1 - p - q])
    return mass


@pytest.mark.parametrize(("images", "delta"), [(12, 0.1), (25, 0.05), (40, 0.05)])
def test_a_larger_difference_than_the_true_one_is_claimed_with_probability_delta_at_most(images, delta):
    bound = np.full((images + 1, images + 1), -np.inf)
    for i in range(images + 1):
        for j in range(images + 1 - i):
            bound[i, j] = paired_difference_bound(i, j, images, delta)
            assert -1 <= bound[i, j] <= (i - j) / images
    worst = 0.0
    for differ in (0.02, 0.1, 0.3, 0.6, 0.95):
        for wins in np.linspace(0, 1, 21):
            p, q = differ * wins, differ * (1 - wins)
            worst = max(worst, float(trinomial(images, p, q)[bound > p - q].sum()))
    assert delta / 4 < worst <= delta


@pytest.mark.parametrize("margin", [0.0, 0.1, 0.3])
def test_what_is_worse_by_more_than_the_margin_passes_with_probability_1_minus_confidence_at_most(margin):
    images, confidence = 16, 0.9
    passes = np.zeros((images + 1, images + 1), bool)
    for i in range(images + 1):
        for j in range(images + 1 - i):
            rest = images - i - j
            one, other = of([1.0] * i + [0.2] * j + [1.0] * rest), of([0.2] * i + [1.0] * j + [1.0] * rest)
            found = no_worse(one, other, 0.5, margin, confidence)
            assert found.difference == pytest.approx((i - j) / images) and found.images == images
            passes[i, j] = found.holds
    assert passes.any()
    worst = 0.0
    for differ in np.linspace(max(margin, 0.01), 1, 40):
        p, q = (differ - margin) / 2, (differ + margin) / 2  # at the boundary
        worst = max(worst, float(trinomial(images, p, q)[passes].sum()))
    assert 0 < worst <= 1 - confidence


def test_an_image_that_is_missing_counts_as_not_certified():
    whole, torn = of([1.0] * 60), of([1.0] * 50 + [None] * 10)
    assert at_least(whole, 0.5, 0.9).holds
    found = at_least(torn, 0.5, 0.9)
    assert not found.holds and (found.certified, found.images, found.missing) == (50, 60, 10)
    assert found.bound == at_least(of([1.0] * 50 + [0.0] * 10), 0.5, 0.9).bound
    paired = no_worse(torn, whole, 0.5, 0.1)
    assert not paired.holds and (paired.missing, paired.images) == (10, 60)
    assert paired.difference == pytest.approx(-1 / 6)
    with pytest.raises(InputError, match="baseline lacks 10"):
        no_worse(whole, torn, 0.5, 0.1)


def test_the_acr_is_held_to_the_one_sided_t_bound_of_the_paired_differences():
    rng = np.random.default_rng(0)
    one, other = rng.gamma(2, 0.4, 150), rng.gamma(2, 0.4, 150)
    found = no_worse(of(list(one)), of(list(other)), margin=0.3)
    expected = stats.ttest_rel(one, other, alternative="greater").confidence_interval(0.95).low
    assert found.bound == pytest.approx(expected) and found.holds == (expected >= -0.3)
    few = list(one[:99]), list(other[:99])
    with pytest.raises(InputError, match="too few"):
        no_worse(*map(of, few))


def test_only_images_that_both_were_asked_for_are_compared():
    fine, coarse = of([1.0] * 40), of([1.0] * 4, images=40, every=10)
    assert no_worse(fine, coarse, 0.5, 0.9).images == 4 and no_worse(coarse, fine, 0.5, 0.9).images == 4


def test_what_proves_nothing_is_refused():
    log = of([1.0] * 40)
    tsv = replace(log, header=replace(log.header, procedure=None))
    strange = replace(log, header=replace(log.header, selection=Selection(2), selected=20))
    grid = of([1.0] * 40, about=curve_about(0.0, 0.5))
    for call, message in [
        (lambda: at_least(tsv, 0.5, 0.9), "alpha"),
        (lambda: at_least(strange, 0.5, 0.9), "not selected"),
        (lambda: at_least(grid, 0.3, 0.9), "grid"),
        (lambda: at_least(log, 0.5, 90), "--at-least"),
        (lambda: at_least(log, -1, 0.9), "--radius"),
        (lambda: at_least(log, float("nan"), 0.9), "--radius"),
        (lambda: at_least(log, 0.5, 0.9, 0.5), "--confidence"),
        (lambda: no_worse(log, log, 0.5, -1), "--margin"),
        (lambda: no_worse(log, log, 0.5, float("nan")), "--margin"),
        (lambda: no_worse(grid, grid), "has no ACR"),
        (lambda: paired_difference_bound(5, 6, 10, 0.05), "cannot be"),
    ]:
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.parametrize(("only_one", "only_other"), [(40, 60), (3, 9), (80, 20), (300, 100)])
def test_the_paired_bound_is_clopper_pearson_at_its_shares_of_delta(only_one, only_other):
    """A plain second implementation, which notices a level that is 0.1 % too large."""
    images, delta, differ = 10_000, 0.05, only_one + only_other
    wins = 2 * stats.beta.ppf(0.9 * delta, only_one, only_other + 1) - 1
    often = stats.beta.ppf(1 - 0.1 * delta, differ + 1, images - differ)
    seldom = stats.beta.ppf(0.1 * delta, differ, images - differ + 1)
    expected = wins * (often if wins < 0 else seldom)
    assert paired_difference_bound(only_one, only_other, images, delta) == pytest.approx(expected, rel=1e-5)
