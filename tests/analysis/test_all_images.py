"""The regression estimate of an ACR on all images."""

import numpy as np
import pytest
from results.all_images import acr_by_other_logs, acr_by_rough_log, difference_by_rough_logs
from scipy.stats import beta, linregress, norm

from smoothcert.analysis.results import Results
from smoothcert.errors import InputError
from smoothcert.records.header import header_of
from tests.analysis.made import curve_about


def log(radius, index=None, about=None):
    index = np.arange(len(radius)) if index is None else index
    ones = np.ones(len(radius), np.int64)
    return Results("log", index, ones, ones, np.asarray(radius, float), ones.astype(bool), header_of(about or {}))


def population(seed, size=4000):
    """Radii of two classifiers on the same images, alike but not equal, and not on one straight line."""
    rng = np.random.default_rng(seed)
    other = rng.gamma(2.0, 0.4, size)
    return other, np.clip(0.1 + 0.8 * other + 0.1 * other**2 + 0.1 * rng.normal(size=size), 0, None)


def test_a_straight_line_is_found_exactly():
    other, _ = population(0)
    few = np.arange(0, 4000, 100)
    estimate, error = acr_by_other_logs(log(0.3 + 1.5 * other[few], few), log(other))
    assert estimate == pytest.approx((0.3 + 1.5 * other).mean(), abs=1e-12) and error < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_intercept_of_scipys_line_and_its_error_is_found_by_leaving_out_each_image(seed):
    """The other's radius is measured from its mean over all images: there is the intercept."""
    other, ours = population(seed)
    few = np.arange(seed, 4000, 70)
    x = other[few] - other.mean()
    intercept = linregress(x, ours[few]).intercept
    without = [linregress(np.delete(x, i), np.delete(ours[few], i)).intercept for i in range(len(few))]
    error = np.sqrt(np.sum(np.square(np.subtract(without, intercept))))
    assert acr_by_other_logs(log(ours[few], few), log(other)) == pytest.approx((intercept, error), rel=1e-9)


def test_it_is_right_on_average_and_its_error_is_what_it_says():
    other, ours = population(1)
    rng = np.random.default_rng(2)
    misses, plain = [], []
    for _ in range(2000):
        few = np.sort(rng.choice(4000, 60, replace=False))
        estimate, error = acr_by_other_logs(log(ours[few], few), log(other))
        misses.append((estimate - ours.mean()) / error)
        plain.append((ours[few].mean() - ours.mean()) / error)
    assert abs(np.mean(misses)) < 0.15 and 0.9 < np.std(misses) < 1.15
    assert np.mean(np.abs(misses) < 2) > 0.93
    assert np.std(plain) > 3  # as many images say three times less without the other log


def alike(rng, size=4000):
    """What two logs and ours have on the same images: the logs correlate, and hard images scatter most."""
    ease = rng.gamma(2.0, 0.4, size)
    one, two = (ease + 0.2 * rng.normal(size=size) for _ in range(2))
    return one, two, np.clip(0.1 + 0.8 * ease + 0.3 / (1 + 3 * ease) * rng.normal(size=size), 0, None)


def test_by_two_logs_the_estimate_is_numpys_and_its_error_is_found_by_leaving_out_each_image():
    one, two, ours = alike(np.random.default_rng(4))
    few = np.arange(0, 4000, 70)
    design = np.column_stack([np.ones_like(few), one[few] - one.mean(), two[few] - two.mean()])

    def intercept(kept):
        return np.linalg.lstsq(design[kept], ours[few][kept], rcond=None)[0][0]

    everyone = np.arange(len(few))
    without = [intercept(everyone != i) for i in everyone]
    wanted = intercept(everyone), np.sqrt(np.sum(np.square(without - intercept(everyone))))
    assert acr_by_other_logs(log(ours[few], few), log(one), log(two)) == pytest.approx(wanted, rel=1e-9)


def test_two_logs_say_more_than_either_and_the_error_is_what_it_says():
    rng = np.random.default_rng(5)
    one, two, ours = alike(rng)
    misses, both, alone = [], [], []
    for _ in range(1000):
        few = np.sort(rng.choice(4000, 100, replace=False))
        some = log(ours[few], few)
        estimate, error = acr_by_other_logs(some, log(one), log(two))
        misses.append((estimate - ours.mean()) / error)
        both.append(error)
        alone.append([acr_by_other_logs(some, log(each))[1] for each in (one, two)])
    assert abs(np.mean(misses)) < 0.15 and 0.9 < np.std(misses) < 1.1
    assert (np.mean(both) < 0.9 * np.mean(alone, axis=0)).all()


def test_where_the_few_are_alike_it_is_the_plain_mean():
    _, ours = population(3)
    few = np.arange(0, 4000, 40)
    alike = np.where(np.arange(4000) % 40 == 1, 0.1, 1.9)  # equal for the few, up to rounding of their mean
    estimate, error = acr_by_other_logs(log(ours[few], few), log(alike))
    assert estimate == pytest.approx(ours[few].mean())
    assert error == pytest.approx(ours[few].std() * np.sqrt(len(few)) / (len(few) - 1))


@pytest.mark.parametrize(
    ("few", "words"),
    [
        (log([1.0, 1.0, 1.0], np.array([1, 2, 9])), "lacks images"),
        (log([1.0, 1.0], np.array([1, 2])), "fewer than 3"),
        (log([0.0, 0.25, 0.5], about=curve_about(0.0, 0.25, 0.5)), "grid"),
    ],
)
def test_what_cannot_be_estimated_is_refused(few, words):
    with pytest.raises(InputError, match=words):
        acr_by_other_logs(few, log([1.0, 2.0, 1.5, 0.5]))


def test_as_many_logs_as_images_or_of_different_images_are_refused():
    few, one = log([1.0, 2.0, 0.5]), log([1.0, 2.0, 1.5, 0.5])
    with pytest.raises(InputError, match="fewer than 4"):
        acr_by_other_logs(few, one, one)
    more = log([1.0, 2.0, 1.5, 0.5, 0.7])
    with pytest.raises(InputError, match="different images"):
        acr_by_other_logs(log([1.0, 2.0, 1.5, 0.5]), one, more)


def test_a_rough_log_that_saturates_too_little_is_fitted_with_the_others():
    other, ours = (np.minimum(radii, reach) for radii, reach in zip(population(4), reversed(REACH), strict=True))
    few = np.arange(0, 4000, 50)
    some, rough, third = certified(0.3 * ours[few], VOTES, few), certified(0.3 * other, FEW_VOTES), log(ours**2)
    assert acr_by_rough_log(some, rough, third) == acr_by_other_logs(some, rough, third)


def test_another_data_set_is_refused():
    few, everything = log([1.0, 2.0, 0.5]), log([1.0, 2.0, 1.5, 0.5])
    few.label[1] = 7
    with pytest.raises(InputError, match="different labels"):
        acr_by_other_logs(few, everything)


SIGMA, ALPHA, VOTES, FEW_VOTES = 0.25, 0.001, 100_000, 500
REACH = [SIGMA * norm.ppf(ALPHA ** (1 / n)) for n in (VOTES, FEW_VOTES)]


def of_images(number):
    return {"name": "mnist", "split": "test", "images": number, "fingerprint": "0" * 64}


def certified(radius, n, index=None, /, **other):
    noise = {"kind": "gaussian", "sigma": SIGMA}
    about = {"n0": 100, "n": n, "alpha": ALPHA, "noise": noise, "model": {"name": "m"}, "data": of_images(4000)}
    return log(radius, index, {key: value for key, value in (about | other).items() if value is not None})


def easy_images(seed, size=4000):
    """Radii by many votes and by few of a classifier that is almost always sure: one image in twenty is hard."""
    rng = np.random.default_rng(seed)
    error = np.where(rng.random(size) < 0.05, rng.uniform(0, 0.5, size), 1e-5)

    def radii(n):
        won = rng.binomial(n, 1 - error)
        return np.clip(SIGMA * norm.ppf(beta.ppf(ALPHA, won, n - won + 1)), 0, None)

    return radii(VOTES), radii(FEW_VOTES)


def test_a_rough_log_corrects_by_the_ratio_of_the_largest_radii():
    fine, rough = easy_images(0)
    few = np.random.default_rng(1).permutation(4000)[:80]  # in any order
    each = fine[few] - REACH[0] / REACH[1] * (rough[few] - rough.mean())
    found = acr_by_rough_log(certified(fine[few], VOTES, few), certified(rough, FEW_VOTES))
    assert found == pytest.approx((each.mean(), each.std(ddof=1) / 80**0.5), rel=1e-6)


def test_by_rough_logs_it_is_right_on_average_and_scatters_less_than_a_fitted_line():
    fine, rough = easy_images(2)
    everything, rng = certified(rough, FEW_VOTES), np.random.default_rng(3)
    misses, errors, plain, fitted = [], [], [], []
    for _ in range(1500):
        few = rng.choice(4000, 60, replace=False)
        some = certified(fine[few], VOTES, few)
        estimate, error = acr_by_rough_log(some, everything)
        misses.append(estimate - fine.mean())
        errors.append(error)
        plain.append(fine[few].mean() - fine.mean())
        fitted.append(acr_by_other_logs(some, everything)[0] - fine.mean())
    spread = np.std(misses)
    assert abs(np.mean(misses)) < 4 * spread / 1500**0.5
    assert np.mean(np.square(errors)) ** 0.5 == pytest.approx(spread, rel=0.1)
    assert np.std(plain) > 2 * spread and np.std(fitted) > 2 * spread


def test_where_few_images_reach_the_largest_radius_the_line_is_fitted():
    other, ours = (np.minimum(radii, reach) for radii, reach in zip(population(4), reversed(REACH), strict=True))
    few = np.arange(0, 4000, 50)
    some, everything = certified(0.3 * ours[few], VOTES, few), certified(0.3 * other, FEW_VOTES)
    assert np.mean(0.3 * other >= 0.999 * REACH[1]) < 0.5
    assert acr_by_rough_log(some, everything) == acr_by_other_logs(some, everything)


def test_a_difference_by_rough_logs_is_taken_image_by_image():
    (fine, rough), (other, rough_other) = easy_images(4), easy_images(5)
    few = np.arange(0, 4000, 50)
    ratio = REACH[0] / REACH[1]
    each = fine[few] - other[few] - ratio * (rough[few] - rough_other[few] - (rough - rough_other).mean())
    one, two = certified(fine[few], VOTES, few), certified(other[few][::-1], VOTES, few[::-1])  # in another order
    found = difference_by_rough_logs(one, certified(rough, FEW_VOTES), two, certified(rough_other, FEW_VOTES))
    assert found == pytest.approx((each.mean(), each.std(ddof=1) / len(few) ** 0.5), rel=1e-6)


def test_a_difference_needs_the_same_images():
    fine, rough = easy_images(6)
    one, two = certified(fine[:50], VOTES, np.arange(50)), certified(fine[1:51], VOTES, np.arange(1, 51))
    with pytest.raises(InputError, match="different images"):
        difference_by_rough_logs(one, certified(rough, FEW_VOTES), two, certified(rough, FEW_VOTES))


@pytest.mark.parametrize(
    ("strange", "words"),
    [
        ({"model": {"name": "other"}}, "the same model"),
        ({"noise": {"kind": "gaussian", "sigma": 0.5}}, "the same noise"),
        ({"bound": "pair"}, "the same bound"),
        ({"n0": None, "n": None, "alpha": None}, "n and alpha"),
        ({"data": of_images(10_000)}, "is not of all images"),
    ],
)
def test_a_rough_log_that_does_not_fit_is_refused(strange, words):
    fine, rough = easy_images(7)
    few = certified(fine[:50], VOTES, np.arange(50))
    with pytest.raises(InputError, match=words):
        acr_by_rough_log(few, certified(rough, FEW_VOTES, **strange))


def test_two_logs_that_name_no_model_are_refused():
    fine, rough = easy_images(8)
    few = certified(fine[:50], VOTES, np.arange(50), model=None)
    with pytest.raises(InputError, match="the same model"):
        acr_by_rough_log(few, certified(rough, FEW_VOTES, model=None))
