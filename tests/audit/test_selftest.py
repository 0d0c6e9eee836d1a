"""The self-test of the noise: silent where all is well, red for every fault it is meant to find."""

import pytest
import torch

from smoothcert.audit import noise_law
from smoothcert.audit.check import FALSE_ALARM
from smoothcert.audit.coverage import check_coverage
from smoothcert.audit.noise_law import check_noise
from smoothcert.noise import Gaussian, Laplace, Uniform
from smoothcert.smoothed import votes

CPU = torch.device("cpu")
LEVEL = FALSE_ALARM / 69
REAL = votes.generator_for


def failing(noise=None):
    """Of 120 votes per stream, more than a block of 100."""
    checks, _ = check_noise(noise or Gaussian(0.5), 18 * 120, 0, CPU)
    return {check.name for check in checks if not check.p_value > LEVEL}


def uncovered(noise, points):
    return {check.name.split(",")[0] for check in check_coverage(noise, points, 0, CPU) if not check.p_value > LEVEL}


@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.5), Uniform(0.5)], ids=repr)
def test_a_good_generator_passes(noise):
    assert failing(noise) == set() and uncovered(noise, 100) == set()


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda d: d.mul_(1.01**0.5), "variance"),
        (lambda d: d.add_(0.004), "mean"),
        (lambda d: d.clamp_(-1.75, 1.75), "upper tail of probability 0.0001"),
        (
            lambda d: d.mul_(1.05 - 0.1 * torch.rand(len(d), *[1] * (d.dim() - 1))),
            "law of ‖δ‖ (χ² of the normal scores)",
        ),
        (lambda d: d[..., 1:].add_(0.02 * d[..., :-1].clone()), "neighbouring coordinates"),
    ],
    ids=["variance 1 % off", "mean shifted", "tails cut at 3.5 σ", "a scale per vote", "correlated pixels"],
)
def test_noise_of_another_law_is_seen(monkeypatch, change, seen):
    def fill(self, buffer, generator=None):
        buffer.normal_(0.0, self.sigma, generator=generator)
        change(buffer)
        return buffer

    monkeypatch.setattr(Gaussian, "fill", fill)
    assert seen in failing()


@pytest.mark.parametrize(
    "stream",
    [
        lambda device, seed, index, stage, block: REAL(device, seed, stage, block),
        lambda device, seed, index, stage, block: REAL(device, seed, index, block),
        lambda device, seed, index, stage, block: REAL(device, seed, index, stage),
        lambda device, seed, index, stage, block: REAL(device, seed % 2**32, index, stage, block),
        lambda device, seed, index, stage, block: REAL(device, seed + index, stage, block),
    ],
    ids=["images", "stages", "blocks", "seeds of 32 bits", "seed + index"],
)
def test_noise_that_comes_twice_is_seen(monkeypatch, stream):
    monkeypatch.setattr(noise_law, "SHAPE", (1, 12, 12))
    monkeypatch.setattr(votes, "generator_for", stream)
    assert "any two votes: images, seeds, stages, blocks" in failing()


def test_noise_that_depends_on_the_batch_is_seen(monkeypatch):
    monkeypatch.setattr(noise_law, "SHAPE", (1, 12, 12))
    torch.manual_seed(0)

    def fill(self, buffer, generator=None):
        return buffer.normal_(0.0, self.sigma)

    monkeypatch.setattr(Gaussian, "fill", fill)
    assert failing() == {"same noise in any batch and order"}


@pytest.mark.parametrize("law", [Gaussian, Laplace, Uniform])
def test_certificates_that_claim_too_much_are_seen(monkeypatch, law):
    real = law.radius_from_error
    monkeypatch.setattr(law, "radius_from_error", lambda self, q: 1.05 * real(self, q))
    assert uncovered(law(0.5), 60) == {"claims beyond the exact radius", "the same"}


def test_certificates_that_claim_too_little_are_seen(monkeypatch):
    real = Gaussian.radius_from_error
    monkeypatch.setattr(Gaussian, "radius_from_error", lambda self, q: 0.9 * real(self, q))
    assert uncovered(Gaussian(0.5), 200) == {"the same"}
