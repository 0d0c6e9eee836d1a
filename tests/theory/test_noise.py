"""Each noise: its samples follow its law, and its theorem is exact on half-spaces."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from smoothcert.audit.noise_law import uniforms
from smoothcert.errors import InputError
from smoothcert.noise import NOISES, Gaussian, GridGaussian, GridUniform, Laplace, Uniform
from smoothcert.noise.stream import generator_for
from smoothcert.procedures.radius import largest_radius

CPU = torch.device("cpu")
EVERY_NOISE = [Gaussian(0.5), Laplace(0.5), Uniform(2.0), Gaussian(0.12), Laplace(1.0), Uniform(1.6)]
EVERY_NOISE += [GridGaussian(0.5), GridUniform(2.0)]


def test_every_noise_is_tested():
    assert {type(noise) for noise in EVERY_NOISE} == set(NOISES.values())


@pytest.mark.parametrize("noise", EVERY_NOISE, ids=repr)
@given(margin=st.floats(0, 1.5))
def test_a_half_space_is_certified_exactly_to_its_margin(noise, margin):
    # f = [x₁ ≤ margin]: P[x + δ stays inside] is known in closed form, and moving by `margin` leaves the half-space.
    p_a = noise.marginal.cdf(margin)
    q_a = noise.marginal.sf(margin)
    if q_a > 0:
        assert noise.radius_from_error(q_a) == pytest.approx(
            min(margin, noise.marginal.support()[1]), rel=1e-9, abs=1e-9
        )
    if p_a < 1 - 1e-9:
        assert noise.radius(p_a) == pytest.approx(margin, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("noise", EVERY_NOISE, ids=repr)
def test_nothing_is_certified_at_or_below_one_half(noise):
    assert noise.radius(0.5) == pytest.approx(0, abs=1e-12)
    assert noise.radius(0.3) == 0


@pytest.mark.parametrize("noise", EVERY_NOISE, ids=repr)
def test_samples_follow_the_law(noise):
    # Kolmogorov–Smirnov at a fixed seed; a correct sampler would fail with probability 1e-3 at another.
    sample = noise.sample_like(torch.empty(1_000_000), generator_for(CPU, 1, repr(noise))).double().numpy()
    assert stats.kstest(uniforms(noise, sample[::10], 0), "uniform").pvalue > 1e-3
    assert sample.std() == pytest.approx(noise.marginal.std(), rel=5e-3)  # four standard errors for Laplace
    assert np.isfinite(sample).all()


@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.5), Uniform(2.0)], ids=repr)
def test_a_scale_wrong_by_a_thousandth_would_be_seen_in_the_samples(noise):
    # 4 · 10⁷ draws: E max(±δ, 0) has a relative standard error of at most 2.7e-4 (Laplace).
    generator, buffer, sides = generator_for(CPU, 3, repr(noise)), torch.empty(2_000_000), np.zeros(2)
    for _ in range(20):
        noise.fill(buffer, generator)
        sides += [float(side.clamp(min=0).mean(dtype=torch.float64)) / 20 for side in (buffer, -buffer)]
    law = noise.marginal
    mean = {Gaussian: law.std() * (2 / np.pi) ** 0.5, Laplace: law.std() / 2**0.5, Uniform: law.support()[1] / 2}
    assert sides == pytest.approx(mean[type(noise)] / 2, rel=6e-4)


@pytest.mark.parametrize("noise", EVERY_NOISE, ids=repr)
def test_coordinates_and_draws_are_uncorrelated(noise):
    sample = noise.sample_like(torch.empty(20_000, 4), generator_for(CPU, 2)).double()
    correlation = torch.corrcoef(sample.T).fill_diagonal_(0).abs().max()
    assert correlation < 5 / 20_000**0.5


@pytest.mark.parametrize("noise", EVERY_NOISE, ids=repr)
@pytest.mark.parametrize("n", [100, 100_000, 10**6])
def test_largest_radius_is_that_of_unanimous_votes(noise, n):
    expected = noise.marginal.ppf(0.001 ** (1 / n))
    assert largest_radius(noise, n, 0.001) == pytest.approx(expected, rel=1e-4)
    assert largest_radius(noise, n, 0.001) < expected


def test_largest_gaussian_radius_of_the_paper():
    assert largest_radius(Gaussian(1.0), 100_000, 0.001) == pytest.approx(3.8115, abs=5e-5)


@pytest.mark.parametrize("kind", NOISES.values(), ids=lambda k: k.__name__)
@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_must_be_positive(kind, scale):
    with pytest.raises(InputError, match="positive"):
        kind(scale)


@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.5), Uniform(0.5)], ids=repr)
def test_noise_has_the_digits_of_float32(noise):
    # 2¹⁷ δ/scale mod 1 is uniform: with the ten binary digits of float16, or the seven of bfloat16, it is 0.
    delta = noise.sample_like(torch.empty(200_000), generator_for(CPU, 5)).double()
    quarters = (delta * (4 * 2**17 / noise.scale) % 4).long().bincount(minlength=4).numpy()
    assert stats.chisquare(quarters).pvalue > 1e-4


@pytest.mark.parametrize("noise", EVERY_NOISE, ids=repr)
def test_channels_rows_and_columns_have_noise_of_their_own(noise):
    delta = noise.sample_like(torch.empty(2000, 3, 4, 4), generator_for(CPU, 6)).double().flatten(1)
    correlation = torch.corrcoef(delta.T).fill_diagonal_(0).abs().max()
    assert correlation < 5.5 / 2000**0.5  # 1128 pairs: a correct sampler fails with probability below 1e-4


def test_gaussian_noise_goes_beyond_four_sigma_as_often_as_it_should():
    delta = Gaussian(0.5).sample_like(torch.empty(5_000_000), generator_for(CPU, 7))
    beyond = int((delta.abs() > 2.0).sum())
    assert stats.binomtest(beyond, delta.numel(), 2 * stats.norm.sf(4)).pvalue > 1e-3
