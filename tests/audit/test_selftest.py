"""The self-test of the noise: silent where all is well, red for every fault it is meant to find."""

import hashlib

import numpy as np
import pytest
import torch

from smoothcert.audit.coverage import check_all_coverage, check_coverage
from smoothcert.audit.noise_law import check_noise
from smoothcert.audit.repeats import check_streams, check_votes
from smoothcert.audit.selftest import FALSE_ALARM, Suite
from smoothcert.noise import NOISES, Gaussian, GridGaussian, GridUniform, Laplace, Uniform, grid_table
from smoothcert.smoothed import votes

CPU = torch.device("cpu")
LEVEL = FALSE_ALARM / 340
REAL = votes.generator_for


def failing(noise=None, shape=(1, 28, 28)):
    """Of 120 votes per stream, more than a block of 100."""
    checks, _ = check_noise(noise or Gaussian(0.5), 18 * 120, 0, CPU, shape)
    return {check.name for check in checks if not check.p_value > LEVEL}


def uncovered(noise, points):
    return {check.name.split()[-1] for check in check_coverage(noise, points, 0, CPU) if not check.p_value > LEVEL}


EVERY = [Gaussian(0.5), Laplace(0.5), Uniform(0.5), GridGaussian(0.5), GridUniform(0.5)]


@pytest.mark.parametrize("noise", EVERY, ids=repr)
def test_a_good_generator_passes(noise):
    assert failing(noise) == set() and uncovered(noise, 100) == set()


def test_all_noises_procedures_bounds_and_shapes_are_in_it():
    suite = Suite(200, 10, streams=1000, shapes=((1, 4, 4), (3, 4, 4)))
    checks = list(suite)
    assert [check for check in checks if not check.p_value > LEVEL] == []
    of = {check.noise for check in checks}
    assert of >= {"all", *(law.__name__.lower() for law in NOISES.values())} and set(suite.largest) == set(NOISES)
    assert {"gaussian 1×4×4", "gaussian 3×4×4"} <= of
    said = " ".join(check.name for check in checks)
    for procedure in ("paper", "curve", "adaptive"):
        for bound in ("single", "pair"):
            assert f"error of {procedure}, {bound} bound" in said and f"{procedure}, {bound} bound: claims" in said


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("law", [Gaussian, Laplace, Uniform])
def test_few_digits_are_seen(monkeypatch, law, dtype):
    real = law.fill
    monkeypatch.setattr(law, "fill", lambda self, buffer, g=None: buffer.copy_(real(self, buffer, g).to(dtype)))
    assert "digits beyond 2⁻¹⁷ of the scale" in failing(law(0.5), (1, 12, 12))


def test_channels_that_share_noise_are_seen_also_in_large_images(monkeypatch):
    real = Gaussian.fill

    def fill(self, buffer, generator=None):
        real(self, buffer, generator)[:, 1] = buffer[:, 0]
        return buffer

    monkeypatch.setattr(Gaussian, "fill", fill)
    assert "coordinates at any distance, such as channels" in failing(shape=(3, 40, 40))


def test_keys_of_32_bits_are_seen(monkeypatch):
    from smoothcert.audit import repeats

    def short(device, *key):
        name = hashlib.sha256(repr(key).encode()).digest()[:3]  # 24 bits, so that a few thousand are enough
        return torch.Generator().manual_seed(int.from_bytes(name, "big"))

    assert all(check.p_value == 1 for check in check_streams(0, CPU, 10_000))
    monkeypatch.setattr(repeats, "generator_for", short)
    assert [check.p_value for check in check_streams(0, CPU, 20_000)][-1] == 0


def test_votes_that_are_not_fresh_are_seen(monkeypatch):
    assert all(check.p_value == 1 for check in check_votes(Gaussian(0.5), 0, CPU))
    monkeypatch.setattr(
        votes, "generator_for", lambda device, seed, index, stage, block: REAL(device, seed, index, stage, block % 100)
    )
    assert {check.name for check in check_votes(Gaussian(0.5), 0, CPU) if check.p_value == 0} == {
        "12,000 votes of one image: all noise is fresh"
    }


def test_every_procedure_is_counted():
    names = {check.name.split(":")[0] for check in check_all_coverage(Laplace(0.5), 10, 0, CPU)}
    assert {"paper, single bound", "curve, single bound", "adaptive, single bound"} <= names


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
    monkeypatch.setattr(votes, "generator_for", stream)
    assert "any two votes: images, seeds, stages, blocks" in failing(shape=(1, 12, 12))


def test_noise_that_depends_on_the_batch_is_seen(monkeypatch):
    torch.manual_seed(0)

    def fill(self, buffer, generator=None):
        return buffer.normal_(0.0, self.sigma)

    monkeypatch.setattr(Gaussian, "fill", fill)
    assert failing(shape=(1, 12, 12)) == {"same noise in any batch and order"}


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda k: np.minimum(k, 420), "upper tail of probability 0.0001"),
        (lambda k: k + 1, "mean"),
        (lambda k: k * (1 + (np.abs(k) > 40) * 0.01), "variance"),
    ],
    ids=["tails cut at 3.3 σ", "mean shifted", "wider"],
)
def test_grid_noise_of_another_law_is_seen(monkeypatch, change, seen):
    real = grid_table.Draws.fill

    def fill(self, out, key):
        real(self, out, key)
        out[...] = np.rint(change(out.astype(float)))

    monkeypatch.setattr(grid_table.Draws, "fill", fill)
    assert seen in failing(GridGaussian(0.5))


@pytest.mark.parametrize("left_out", range(4), ids=["seeds", "images", "stages", "blocks"])
def test_grid_noise_that_comes_twice_is_seen(monkeypatch, left_out):
    real = votes.stream_key
    monkeypatch.setattr(votes, "stream_key", lambda *key: real(*key[:left_out], *key[left_out + 1 :]))
    assert "any two votes: images, seeds, stages, blocks" in failing(GridGaussian(0.5), (1, 12, 12))


@pytest.mark.parametrize("law", [Gaussian, Laplace, Uniform, GridGaussian, GridUniform])
def test_certificates_that_claim_too_much_are_seen(monkeypatch, law):
    real = law.radius_from_error
    monkeypatch.setattr(law, "radius_from_error", lambda self, q: 1.05 * real(self, q))
    found = uncovered(law(0.5), 60)
    assert "radius" in found and len(found) == 2  # the error rate at the boundary, and the largest radius


def test_certificates_that_claim_too_little_are_seen(monkeypatch):
    real = Gaussian.radius_from_error
    monkeypatch.setattr(Gaussian, "radius_from_error", lambda self, q: 0.9 * real(self, q))
    assert uncovered(Gaussian(0.5), 300) == {"0.0948"}
