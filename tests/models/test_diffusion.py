"""The algebra of schedules, against plain loops and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from smoothcert import InputError
from smoothcert.models import OneShot
from smoothcert.models.diffusion import SCHEDULES, STEPS, Moment, alpha_bar, levels, moment, step_of

WHOLE_STEPS = ("linear", "cosine")


def plain(schedule):
    """ᾱ by the papers' own recursions, in a loop of Python's floats."""
    found, product = [], 1.0
    for t in range(STEPS):
        if schedule == "linear":
            beta = 1e-4 + (0.02 - 1e-4) * t / (STEPS - 1)
        else:
            now, then = (math.cos(((t + i) / STEPS + 0.008) / (1 + 0.008) * math.pi / 2) ** 2 for i in (0, 1))
            beta = min(1 - then / now, 0.999)
        product *= 1 - beta
        found.append(product)
    return found


@pytest.mark.parametrize("schedule", WHOLE_STEPS)
def test_alpha_bar_is_the_product_of_the_papers(schedule):
    assert alpha_bar(schedule) == pytest.approx(plain(schedule), rel=1e-12)
    assert alpha_bar(schedule).dtype == np.float64 and not alpha_bar(schedule).flags.writeable
    assert (np.diff(alpha_bar(schedule)) < 0).all() and (np.diff(levels(schedule)) > 0).all()


def test_alpha_bar_has_the_ends_that_are_known():
    assert alpha_bar("linear")[0] == pytest.approx(0.9999, rel=1e-15)
    assert alpha_bar("linear")[-1] == pytest.approx(4.0358e-5, rel=1e-4)  # of Ho et al.: "≈ 4·10⁻⁵"
    # the cosine's product telescopes to h(t + 1)/h(0) until β is clipped
    h = np.cos((np.arange(STEPS + 1) / STEPS + 0.008) / 1.008 * math.pi / 2) ** 2
    assert alpha_bar("cosine")[:-1] == pytest.approx((h[1:] / h[0])[:-1], rel=1e-9)
    assert alpha_bar("cosine")[-1] == pytest.approx(alpha_bar("cosine")[-2] * 0.001, rel=1e-12)


@pytest.mark.parametrize("schedule", WHOLE_STEPS)
@pytest.mark.parametrize("t", [0, 1, 100, 258, 500, 998, 999])
def test_the_step_of_a_level_is_its_step(schedule, t):
    s = math.sqrt((1 - alpha_bar(schedule)[t]) / alpha_bar(schedule)[t])
    assert step_of(schedule, s) == t
    assert moment(schedule, s) == Moment(t, math.sqrt(alpha_bar(schedule)[t]), pytest.approx(s, rel=1e-15))


@pytest.mark.parametrize("schedule", WHOLE_STEPS)
def test_between_two_steps_the_nearer_one_is_taken_and_is_within_one_percent(schedule):
    s = levels(schedule)
    for t in range(100, 900, 37):
        middle = math.sqrt(s[t] * s[t + 1])
        assert (step_of(schedule, middle * 0.99999), step_of(schedule, middle * 1.00001)) == (t, t + 1)
    for sigma in np.geomspace(0.2, 10, 300):
        assert abs(s[step_of(schedule, sigma)] / sigma - 1) < 0.01


def test_noise_outside_of_a_schedule():
    assert step_of("linear", 1e-6) == 0
    for sigma in (158.0, math.inf, 0.0, math.nan):
        with pytest.raises(InputError, match=r"has noise up to σ = 157.4 in \[−1, 1\]"):
            step_of("linear", sigma)
    with pytest.raises(InputError, match="did you mean cosine"):
        alpha_bar("cosin")
    with pytest.raises(InputError, match="any σ is a step"):
        alpha_bar("edm")
    assert moment("edm", 1.7) == Moment(1.7, 1.0, 1.7)


def clean_and_noise():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(4, 3, 5, 5, generator=generator, dtype=torch.float64)
    return x, torch.randn(4, 3, 5, 5, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("t", [100, 258, 600])
def test_with_the_true_noise_one_step_gives_the_clean_image(schedule, t):
    sigma = float(levels("linear" if schedule == "edm" else schedule)[t]) / 2  # of images in [0, 1]
    x, noise = clean_and_noise()
    seen = []

    def eps(x_t, time):
        seen.append((x_t, time))
        return noise

    found = OneShot(eps, schedule)(x + sigma * noise, sigma)
    assert torch.allclose(found, x, atol=1e-12)
    # and what the network is given is x_t of images in [−1, 1], at its step
    ((x_t, time),) = seen
    a = 1.0 if schedule == "edm" else float(alpha_bar(schedule)[t])
    level = (2 * sigma) ** 2 if schedule == "edm" else 1 - a
    assert torch.allclose(x_t, math.sqrt(a) * (2 * x - 1) + math.sqrt(level) * noise, atol=1e-12)
    assert time.shape == (4,) and float(time[0]) == pytest.approx(2 * sigma if schedule == "edm" else t, rel=1e-6)
    assert time.dtype == (torch.float32 if schedule == "edm" else torch.int64)


def test_between_steps_the_rest_of_the_noise_stays():
    x, noise = 0.5 + 0 * clean_and_noise()[0], 0.1 * clean_and_noise()[1]
    sigma = 0.4037
    rest = sigma - float(levels("linear")[step_of("linear", 2 * sigma)]) / 2
    assert 0 < abs(rest) < 0.01 * sigma
    found = OneShot(lambda x_t, t: noise, "linear")(x + sigma * noise, sigma)
    assert torch.allclose(found, x + rest * noise, atol=1e-12)


def test_the_denoised_image_is_clamped_to_the_range_of_images():
    found = OneShot(lambda x_t, t: torch.zeros_like(x_t), "cosine")(torch.tensor([[[[-0.5, 0.3, 1.5]]]]), 0.25)
    assert found.flatten().tolist() == pytest.approx([0, 0.3, 1])
