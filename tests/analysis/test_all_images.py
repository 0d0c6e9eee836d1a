"""The regression estimate of an ACR on all images."""

import numpy as np
import pytest
from scipy.stats import linregress

from smoothcert.analysis.all_images import acr_on_all_images
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError


def log(radius, index=None, about=None):
    index = np.arange(len(radius)) if index is None else index
    ones = np.ones(len(radius), np.int64)
    return Results("log", index, ones, ones, np.asarray(radius, float), ones.astype(bool), about or {})


def population(seed, size=4000):
    """Radii of two classifiers on the same images, alike but not equal, and not on one straight line."""
    rng = np.random.default_rng(seed)
    other = rng.gamma(2.0, 0.4, size)
    return other, np.clip(0.1 + 0.8 * other + 0.1 * other**2 + 0.1 * rng.normal(size=size), 0, None)


def test_a_straight_line_is_found_exactly():
    other, _ = population(0)
    few = np.arange(0, 4000, 100)
    estimate, error = acr_on_all_images(log(0.3 + 1.5 * other[few], few), log(other))
    assert estimate == pytest.approx((0.3 + 1.5 * other).mean(), abs=1e-12) and error < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_intercept_of_scipys_line(seed):
    """The other's radius is measured from its mean over all images: there is the intercept."""
    other, ours = population(seed)
    few = np.arange(seed, 4000, 70)
    line = linregress(other[few] - other.mean(), ours[few])
    found = acr_on_all_images(log(ours[few], few), log(other))
    assert found == pytest.approx((line.intercept, line.intercept_stderr), rel=1e-9)


def test_it_is_right_on_average_and_its_error_is_what_it_says():
    other, ours = population(1)
    rng = np.random.default_rng(2)
    misses, plain = [], []
    for _ in range(2000):
        few = np.sort(rng.choice(4000, 60, replace=False))
        estimate, error = acr_on_all_images(log(ours[few], few), log(other))
        misses.append((estimate - ours.mean()) / error)
        plain.append((ours[few].mean() - ours.mean()) / error)
    assert abs(np.mean(misses)) < 0.15 and 0.9 < np.std(misses) < 1.15
    assert np.mean(np.abs(misses) < 2) > 0.93
    assert np.std(plain) > 3  # as many images say three times less without the other log


def test_alike_everywhere_it_is_the_plain_mean():
    _, ours = population(3)
    few = np.arange(0, 4000, 50)
    estimate, error = acr_on_all_images(log(ours[few], few), log(np.ones(4000)))
    assert estimate == pytest.approx(ours[few].mean())
    assert error == pytest.approx(ours[few].std(ddof=2) / np.sqrt(len(few)))


@pytest.mark.parametrize(
    ("few", "words"),
    [
        (log([1.0, 1.0, 1.0], np.array([1, 2, 9])), "lacks images"),
        (log([1.0, 1.0], np.array([1, 2])), "fewer than three"),
        (log([0.0, 0.25, 0.5], about={"procedure": "curve", "radii": [0.0, 0.25, 0.5]}), "grid"),
    ],
)
def test_what_cannot_be_estimated_is_refused(few, words):
    with pytest.raises(InputError, match=words):
        acr_on_all_images(few, log([1.0, 2.0, 1.5, 0.5]))


def test_another_data_set_is_refused():
    few, everything = log([1.0, 2.0, 0.5]), log([1.0, 2.0, 1.5, 0.5])
    few.label[1] = 7
    with pytest.raises(InputError, match="different labels"):
        acr_on_all_images(few, everything)
