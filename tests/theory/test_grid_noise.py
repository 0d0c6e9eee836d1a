"""Grid noise: its law to the last of 64 bits, its stream, and that f sees nothing but integers."""

from bisect import bisect_right
from itertools import pairwise
from math import sqrt

import mpmath
import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, GridGaussian, GridUniform, Laplace, Uniform, grid_table, on_grid
from smoothcert.noise.aes_stream import MOST_SEED, stream_key
from smoothcert.noise.exact_law import ONE
from smoothcert.noise.grid_table import Draws
from smoothcert.procedures.certificate import certify
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.grid_image import levels
from smoothcert.smoothed.votes import Request, Voter, votes_per_block

SIGMAS = [0.12, 0.25, 0.5, 1.0]
GRIDS = [*map(GridGaussian, SIGMAS), GridGaussian(1e-3), GridUniform(0.87), GridUniform(0.1), GridUniform(3.5 / 255)]


def cumulative(noise, j):
    """P[k ≤ j] with 60 digits, by another way than the package's."""
    with mpmath.workdps(60):
        if isinstance(noise, GridGaussian):
            return mpmath.erfc(-(mpmath.mpf(j) + 0.5) / (255 * mpmath.mpf(noise.sigma) * mpmath.sqrt(2))) / 2
        width = 255 * mpmath.mpf(noise.w)
        return min(mpmath.mpf(1), max(mpmath.mpf(0), (mpmath.mpf(j) + 0.5 + width) / (2 * width)))


def plain(noise, size, key):
    """The same integers from whole 64-bit numbers, one by one, by bisection; and how many bits alone did not decide."""
    thresholds = noise.table().thresholds.tolist()
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    prefixes = np.frombuffer(stream.update(bytes(2 * size)), "<u2").tolist()
    found, refined = [], 0
    for prefix in prefixes:
        low, high = prefix << 48, (prefix + 1) << 48
        count = bisect_right(thresholds, low)
        if bisect_right(thresholds, high - 1) != count:
            refined += 1
            count = bisect_right(thresholds, low | int.from_bytes(stream.update(bytes(8)), "little") >> 16)
        found.append(count - len(thresholds) // 2)
    return np.array(found), refined


def drawn(noise, size, *key):
    out = np.empty(size, np.int16)
    Draws(noise.table(), size).fill(out, stream_key(*key))
    return out


@pytest.mark.parametrize("noise", GRIDS, ids=repr)
def test_every_threshold_is_the_cumulative_law_rounded_to_64_bits(noise):
    table = noise.table()
    for number, threshold in enumerate(table.thresholds.tolist()):
        with mpmath.workdps(60):
            assert abs(cumulative(noise, number - table.largest) * ONE - threshold) <= 0.5 + 1e-20
    with mpmath.workdps(60):  # and beyond them there is nothing that rounds to anything
        assert cumulative(noise, -table.largest - 1) * ONE <= 0.5
        assert (1 - cumulative(noise, table.largest)) * ONE <= 0.5


@pytest.mark.parametrize("noise", GRIDS, ids=repr)
def test_the_residual_bounds_the_total_variation(noise):
    table = noise.table()
    ends = [0, *table.thresholds.tolist(), ONE]
    with mpmath.workdps(60):
        exact = [cumulative(noise, j) for j in range(-table.largest - 1, table.largest + 1)]
        law = [b - a for a, b in pairwise(exact)]
        off = sum(abs(mpmath.mpf(b - a) / ONE - p) for a, b, p in zip(ends, ends[1:], law, strict=False))
        distance = (off + exact[0] + 1 - exact[-1]) / 2
    assert 0 <= distance <= table.distance and noise.residual(784 * 100_100) == 784 * 100_100 * table.distance


@pytest.mark.parametrize("noise", GRIDS, ids=repr)
def test_every_prefix_of_16_bits_decides_what_all_64_would(noise):
    table = noise.table()
    starts = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    first = np.searchsorted(table.thresholds, starts, side="right") - table.largest
    last = np.searchsorted(table.thresholds, starts + np.uint64(2**48 - 1), side="right") - table.largest
    decided = first == last
    assert (table._quick[decided] == first[decided]).all()
    assert (table._quick[~decided] == -(2**15)).all() and decided.mean() > 0.95
    one = last - first == 1  # the threshold itself decides, to the last bit
    cut = starts[one] + table._cut[one]
    assert np.isin(cut, table.thresholds).all() and (table._below[one] == first[one]).all()


@pytest.mark.parametrize(
    "noise", [GridGaussian(0.12), GridGaussian(0.5), GridGaussian(1.0), GridUniform(0.87)], ids=repr
)
def test_draws_are_those_of_a_plain_inversion(noise):
    size = 300_000
    expected, refined = plain(noise, size, stream_key(7, "plain"))
    assert refined > 0.001 * size
    assert (drawn(noise, size, 7, "plain") == expected).all()


@pytest.mark.parametrize("noise", [GridGaussian(0.5), GridUniform(0.87)], ids=repr)
def test_every_threshold_decides_to_its_last_bit(noise, monkeypatch):
    table = noise.table()
    thresholds = table.thresholds.tolist()
    numbers = [threshold - 1 for threshold in thresholds] + thresholds
    k = np.array([bisect_right(thresholds, number) for number in numbers]) - table.largest
    u = np.array(numbers, np.uint64)
    prefix, rest = (u >> np.uint64(48)).astype("<u2"), (u << np.uint64(16)).astype("<u8")
    undecided = table._quick[prefix] == -(2**15)

    class Given:
        def __init__(self, key):
            pass

        def next_into(self, buffer, zeros):
            buffer[: len(zeros)] = prefix.tobytes()

        def next(self, size):
            return rest[undecided].tobytes()

    monkeypatch.setattr(grid_table, "AesStream", Given)
    assert (drawn(noise, len(u)) == k).all() and undecided.mean() > 0.9


def test_numbers_in_prefixes_of_several_thresholds_are_drawn_right():
    noise = GridGaussian(1.0)
    bits = 0
    for number in range(40):
        found = drawn(noise, 100_000, number)
        expected, _ = plain(noise, 100_000, stream_key(number)) if number < 2 else (found, 0)
        assert (found == expected).all()
        bits += int((np.abs(found) > 4.2 * 255).sum())
    assert bits > 50  # beyond 4.2 σ 16 bits hold several values: they were drawn, at the rate of their law
    assert stats.binomtest(bits, 40 * 100_000, 2 * stats.norm.sf(1071.5 / 255)).pvalue > 1e-3


@pytest.mark.parametrize("noise", GRIDS, ids=repr)
def test_draws_follow_the_law(noise):
    # χ² over all values expected 20 times or more, the tails as one: fails with probability 1e-3 at another seed.
    size, table = 2_000_000, noise.table()
    counts = np.bincount(drawn(noise, size, 3, "chi") + table.largest, minlength=table.values)
    ends = np.array([0.0, *(table.thresholds / 2.0**64), 1.0])
    expected = size * np.diff(ends)
    often = expected >= 20
    seen = np.append(counts[often], counts[~often].sum())
    wanted = np.append(expected[often], expected[~often].sum())
    keep = wanted > 0
    assert stats.chisquare(seen[keep], wanted[keep] * seen.sum() / wanted.sum()).pvalue > 1e-3


@pytest.mark.parametrize("noise", [*map(GridGaussian, SIGMAS), GridUniform(0.87)], ids=repr)
@pytest.mark.parametrize("j", [0, 1, 30, 100])
def test_a_half_space_is_certified_exactly_to_its_margin(noise, j):
    # f = [k ≤ j]: the nearest real point of the other class is (j + ½)/255 away, and p_A is known.
    p_a = float(cumulative(noise, j))
    assert noise.radius_from_error(float(1 - cumulative(noise, j))) == pytest.approx((j + 0.5) / 255, rel=1e-9)
    x = torch.zeros(1, 2, 2)
    g = SmoothedClassifier(
        lambda z: torch.stack([(z[:, 0, 0, 0] <= (j + 0.5) / 255).float(), torch.full((len(z),), 0.5)], 1), noise, 2
    )
    votes = g.votes(x, 20_000)
    assert stats.binomtest(int(votes[0]), 20_000, p_a).pvalue > 1e-4
    assert g.certify(x, n=2000).radius <= (j + 0.5) / 255 or p_a > 1 - 1e-6


def reads_last_bits(z):
    """Class 1 where all numbers of z near 0 are multiples of 2⁻²⁸: such a z looks like c + δ with c ≈ 0.05, rounded.

    Of 0 + δ the numbers near 0 keep finer bits, as float32 has them there; of c + δ those bits are lost.
    """
    flat = z.flatten(1).double()
    near, coarse = flat.abs() < 2.0**-6, torch.remainder(flat * 2.0**28, 1.0) == 0
    said = (near & coarse).sum(1).eq(near.sum(1)) & near.any(1)
    return torch.stack([~said, said], 1).float()


X, MOVED = torch.zeros(1, 28, 28), torch.full((1, 28, 28), 12 / 255)
DISTANCE = 28 * 12 / 255  # 1.318


def test_float_noise_certifies_a_ball_that_holds_a_counterexample():
    # A documented expectation, not a wish: see docs/guarantee.md. It is why grid noise exists.
    g = SmoothedClassifier(reads_last_bits, Gaussian(0.5), 2)
    certificate = g.certify(X, n=2000)
    assert certificate.label == 0 and certificate.radius > DISTANCE
    assert g.votes(MOVED, 5000)[0] == 0


def test_grid_noise_gives_the_same_class_there():
    g = SmoothedClassifier(reads_last_bits, GridGaussian(0.5), 2)
    assert g.certify(X, n=2000).radius > DISTANCE
    assert g.votes(X, 5000)[0] == g.votes(MOVED, 5000)[0] == 5000


def inputs_of(noise, x, start=0, stop=250, index=0, seed=0, **options):
    """(votes, d): what f gets, in order."""
    seen = []

    def f(z):
        seen.append(z.flatten(1).clone())
        return torch.zeros(len(z), 2)

    voter = Voter(f, noise, 2, seed, **options)
    voter.require_steady(Request(x, index, "s", start, stop))
    seen.clear()
    voter.count([Request(x, index, "s", start, stop)])
    return torch.cat(seen)


@pytest.mark.parametrize("noise", [GridGaussian(0.5), GridUniform(0.87)], ids=repr)
def test_f_gets_the_quotient_of_integers_that_noise_and_image_add_up_to(noise):
    pixels = torch.arange(256).repeat(4)[: 3 * 16 * 16].reshape(3, 16, 16)
    x, size = pixels / 255, votes_per_block((3, 16, 16))
    found = inputs_of(noise, x, index=5, seed=MOST_SEED)
    whole = np.concatenate(
        [drawn(noise, size * 768, MOST_SEED, 5, "s", block).reshape(size, 768) for block in range(3)]
    )
    expected = (whole[:250].astype(np.float32) + pixels.numpy().reshape(-1).astype(np.float32)) / np.float32(255)
    assert (found.numpy() == expected).all()
    assert found.abs().max() > 1.3  # not clipped


@pytest.mark.parametrize("noise", [GridGaussian(0.25), GridUniform(0.87)], ids=repr)
def test_the_noise_is_the_same_in_any_batch_part_layout_and_company(noise):
    x = torch.rand(3, 6, 7).mul(255).round().div(255)
    expected = inputs_of(noise, x, batch=100)
    for batch in (1, 7, 64, 1000):
        assert torch.equal(inputs_of(noise, x, batch=batch), expected)
    assert torch.equal(torch.cat([inputs_of(noise, x, a, b) for a, b in ((0, 13), (13, 130), (130, 250))]), expected)
    last = inputs_of(noise, x, memory_format=torch.channels_last)
    assert torch.equal(last, expected)


def test_several_threads_draw_what_one_draws():
    from smoothcert.models import build, frozen

    network, threads = frozen(build("lenet", 10)), torch.get_num_threads()
    requests = [Request(torch.rand(1, 28, 28), i, "s", 0, 350) for i in range(2)]
    try:
        found = []
        for count in (1, 3):
            torch.set_num_threads(count)
            found.append(Voter(network, GridGaussian(0.5), 10, batch=50).count(requests))
        assert (found[0] == found[1]).all()
    finally:
        torch.set_num_threads(threads)


def test_streams_depend_on_all_256_bits_of_the_seed_and_on_nothing_that_only_looks_alike():
    keys = [
        (1, 2, "a"),
        (2, 1, "a"),
        (1, 2, "b"),
        (12, "a"),
        (1, 2),
        ("1", 2, "a"),
        ("a/2", 3),
        ("a", 2, 3),
        ("a", "2/3"),
    ]
    keys += [(1 + 2**bit, 2, "a") for bit in range(1, 256, 15)] + [("i1:1", 2), ("", 1, 2), (-1, 2, "a")]
    assert len({stream_key(*key) for key in keys}) == len(keys)
    draws = np.stack([drawn(GridGaussian(0.5), 1000, *key) for key in keys])
    correlation = np.corrcoef(draws) - np.eye(len(keys))
    assert np.abs(correlation).max() < 5 / sqrt(1000)


@pytest.mark.parametrize("seed", [-1, 2**256])
def test_a_seed_of_more_than_256_bits_is_refused(seed):
    with pytest.raises(InputError, match="seed of grid noise"):
        SmoothedClassifier(reads_last_bits, GridGaussian(0.5), 2, seed=seed)


def test_predictions_have_fresh_seeds_of_256_bits():
    g = SmoothedClassifier(reads_last_bits, GridGaussian(0.5), 2)
    seeds = {g.predict(X, n=10).seed for _ in range(8)}
    assert len(seeds) == 8 and max(seeds).bit_length() > 240


def test_an_image_beside_the_grid_is_rounded_and_the_answer_says_so():
    g = SmoothedClassifier(reads_last_bits, GridGaussian(0.5), 2)
    on, off = torch.full((1, 28, 28), 100 / 255), torch.full((1, 28, 28), 100.4 / 255)
    assert g.certify(off, n=100) == g.certify(on, n=100)  # the same noise, too: it is named by the rounded image
    assert [g.certify(x, n=100).rounded for x in (on, off)] == [False, True]
    assert [p.rounded for p in g.predict_batch(torch.stack([on, off]), n=10)] == [False, True]
    assert next(iter(g.watch(off))).rounded and not next(iter(g.watch(on))).rounded
    every = torch.arange(256, dtype=torch.float32).reshape(1, 16, 16)
    assert not g.certify(every / 255, n=100).rounded
    assert torch.equal(levels(every / 255, g.noise).float(), every)
    assert torch.equal(levels(every / 255 - 1e-7, g.noise).float(), every)
    assert not g.certify((every.double() / 255).float() + 1e-7, n=100).rounded  # as far as float32 is off


def test_a_certificate_states_its_residual():
    certificate = SmoothedClassifier(reads_last_bits, GridGaussian(0.5), 2).certify(X, n=2000)
    assert certificate.residual == 2100 * 784 * GridGaussian(0.5).table().values / 2**64
    assert certificate.error == 0.001 + certificate.residual and certificate.follows
    ideal = SmoothedClassifier(reads_last_bits, Gaussian(0.5), 2).certify(X, n=2000)
    assert ideal.residual == 0 and ideal.error == 0.001


def test_images_that_do_not_fit_16_bits_are_refused():
    with pytest.raises(InputError, match="scale the image"):
        SmoothedClassifier(reads_last_bits, GridGaussian(0.5), 2).votes(1000 * torch.ones(1, 28, 28), 10)
    for law in (GridGaussian, GridUniform):
        with pytest.raises(InputError, match="at most 7"):
            law(8.0)


def test_the_radius_is_that_of_the_continuous_law():
    votes = ([100, 0], [1990, 10])
    for grid, law in ((GridGaussian(0.5), Gaussian(0.5)), (GridUniform(0.87), Uniform(0.87))):
        assert certify(*votes, grid, 0.001).radius == certify(*votes, law, 0.001).radius > 0
        assert on_grid(law) == on_grid(grid) == grid != law
    with pytest.raises(InputError, match="no exact form"):
        on_grid(Laplace(0.5))


@pytest.mark.parametrize("noise", [GridGaussian(0.5), GridUniform(0.87)], ids=repr)
def test_noise_of_training_is_on_the_grid_too(noise):
    sample = noise.sample_like(torch.empty(100_000), torch.Generator().manual_seed(0)).double() * 255
    assert (sample - sample.round()).abs().max() < 1e-4
    assert float(sample.std()) == pytest.approx(255 * noise.marginal.std(), rel=0.02)
