"""The noise against its law: moments, tails, shape, length, and independence of everything that must be independent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, product

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import betaincc, chdtr, chdtrc, ndtr, ndtri
from torch import Tensor

from smoothcert.audit.check import Check, yes
from smoothcert.noise import GridNoise, Noise
from smoothcert.noise.exact_law import GRID
from smoothcert.smoothed.votes import Request, Voter, votes_per_block

SHAPES = ((1, 28, 28), (3, 32, 32), (3, 224, 224))
TAILS = (1e-2, 1e-3, 1e-4, 1e-5)
ALL_PAIRS = 4096  # coordinates of which all pairs are compared; of more, all distances between two of them
FINE = 2**17  # of the scale: float32 noise has more digits than that, float16 and bfloat16 have not

Array = NDArray[np.float64]
Stream = tuple[int, int, str]
"""seed, image and stage"""


def check_noise(
    noise: Noise, votes: int, seed: int, device: torch.device, shape: tuple[int, ...] = SHAPES[0]
) -> tuple[list[Check], float]:
    """All checks of one law, on about `votes` noises of this shape; and the largest |δ_j| / scale."""
    streams, each = sample(votes, seed, shape)
    drawn = record(noise, streams, each, device, None, shape)
    name = f"{type(noise).__name__.lower()} {'×'.join(map(str, shape))}"
    other = votes_per_block(shape) * 3 // 4 + 1  # not a divisor of a block, so that blocks are cut
    again = record(noise, streams[::-1], each, device, other, shape).flip(0)
    checks = [yes(name, "same noise in any batch and order", "bit by bit", bool(torch.equal(drawn, again)))]
    del again
    delta = drawn.numpy().astype(np.float64)
    u = uniforms(noise, delta, seed)  # (S, V, d), uniform if all is well
    u = np.clip(u, 2.0**-26, 1 - 2.0**-26)  # the end of a range is drawn with probability 2⁻²⁴
    scores = ndtri(u)  # normal scores, δ/σ itself for a Gaussian: one theory for all laws
    for found in (*_digits(noise, delta), *_moments(scores), *_law(u), *_independence(scores)):
        checks.append(Check(name, *found))
    return checks, float(drawn.abs().max()) / noise.scale


def sample(votes: int, seed: int, shape: tuple[int, ...]) -> tuple[list[Stream], int]:
    """Streams that are neighbours of each other in every part of the key, and how many votes of each to draw.

    The last seed agrees with the first in its low 32 bits. Each stream has more than a block of votes; large images
    have fewer streams.
    """
    small = int(np.prod(shape)) <= 1024
    seeds = (seed, seed + 1, seed + 2**32) if small else (seed, seed + 2**32)
    images = (0, 1, 2) if small else (0, 1) if int(np.prod(shape)) <= ALL_PAIRS else (0,)
    streams = list(product(seeds, images, ("selection", "estimation")))
    least = votes_per_block(shape) + 1
    return streams, -(-votes // len(streams)) if small else least


def uniforms(noise: Noise, delta: Array, seed: int) -> Array:
    """F(δ); on the grid F(δ − ½/255) + V P[δ] with V uniform and independent: each uniform, if all is well."""
    if not isinstance(noise, GridNoise):
        return np.asarray(noise.marginal.cdf(delta))
    k, law = np.rint(GRID * delta), noise.marginal
    low, high = law.cdf((k - 0.5) / GRID), law.cdf((k + 0.5) / GRID)
    return np.asarray(low + np.random.default_rng(seed).random(k.shape) * (high - low))


def record(
    noise: Noise, streams: Sequence[Stream], votes: int, device: torch.device, batch: int | None, shape: tuple[int, ...]
) -> Tensor:
    """(streams, votes, d): 0 + δ as the engine of all certificates hands it to f, with its blocks, threads, buffers."""
    seen: list[Tensor] = []

    def f(x: Tensor) -> Tensor:
        seen.append(x.flatten(1).cpu().clone())
        return torch.zeros((len(x), 2), device=x.device)

    for seed, group in groupby(streams, key=lambda stream: stream[0]):
        voter = Voter(f, noise, 2, seed, batch, device)
        requests = [Request(torch.zeros(shape), index, stage, 0, votes) for _, index, stage in group]
        before = len(seen)
        voter.require_steady(requests[0])
        del seen[before:]  # what f was asked before the first vote
        voter.count(requests)
    return torch.cat(seen).view(len(streams), votes, -1)


def _digits(noise: Noise, delta: Array) -> Iterator[tuple[str, str, float]]:
    """2¹⁷ δ/scale mod 1 is uniform, its four quarters by χ²; on the grid 255 δ is whole."""
    if isinstance(noise, GridNoise):
        whole = bool((np.abs(GRID * delta - np.rint(GRID * delta)) < 1e-3).all())
        yield "whole multiples of 1/255", str(whole), float(whole)
        return
    quarters = np.bincount((delta * (4 * FINE / noise.scale) % 4).astype(np.int64).ravel(), minlength=4)[:4]
    expected = delta.size / 4
    statistic = float(((quarters - expected) ** 2).sum() / expected)
    yield "digits beyond 2⁻¹⁷ of the scale", f"χ² = {statistic:.2f}", float(chdtrc(3, statistic))


def _moments(z: Array) -> Iterator[tuple[str, str, float]]:
    """mean(z^k) = μ_k ± √((μ_2k − μ_k²)/N),  k = 1 … 4, with μ_2, μ_4, μ_6, μ_8 = 1, 3, 15, 105."""
    power = np.ones_like(z)
    for name, mu, variance in (("mean", 0, 1), ("variance", 1, 2), ("third moment", 0, 15), ("fourth moment", 3, 96)):
        power *= z
        score = float((power.mean() - mu) / np.sqrt(variance / z.size))
        yield name, f"z = {score:+.2f}", _normal(score)


def _law(u: Array) -> Iterator[tuple[str, str, float]]:
    from scipy.stats import binomtest

    d, p_value = _kolmogorov(u)
    yield "law of a coordinate (Kolmogorov–Smirnov)", f"D = {d:.2g}", p_value
    for tail in TAILS:
        for side, beyond in (("lower", u < tail), ("upper", u > 1 - tail)):
            seen = int(beyond.sum())
            p_value = float(binomtest(seen, u.size, tail).pvalue)
            yield f"{side} tail of probability {tail:g}", f"{seen} for {tail * u.size:.0f}", p_value


def _independence(z: Array) -> Iterator[tuple[str, str, float]]:
    s, v, d = z.shape
    votes = z.reshape(s * v, d)
    length, p_value = _kolmogorov(chdtr(d, (votes**2).sum(1)))
    yield "law of ‖δ‖ (χ² of the normal scores)", f"D = {length:.2g}", p_value
    cosine, p_value = _largest_cosine(votes)
    yield "any two votes: images, seeds, stages, blocks", f"largest |cos| {cosine:.3f}", p_value
    if d <= ALL_PAIRS:
        cosine, p_value = _largest_cosine(votes.T)
        yield "any two coordinates", f"largest |cos| {cosine:.3f}", p_value
    lag, score = _largest_lag(votes)
    yield "coordinates at any distance, such as channels", f"|z| {score:.2f} at {lag}", _normal(score, d // 2)
    flat = z.reshape(s, v * d)
    pairs = flat @ flat.T / np.sqrt(v * d)  # each ~ N(0, 1) off the diagonal
    largest = float(np.abs(pairs - np.diag(np.diag(pairs))).max())
    p_value = _normal(largest, math.comb(s, 2))
    yield "any two streams: images, seeds, stages", f"largest |z| {largest:.2f}", p_value
    for name, a, b in (
        ("neighbouring coordinates", z[..., :-1], z[..., 1:]),
        ("neighbouring votes", z[:, :-1], z[:, 1:]),
        ("sizes of neighbouring coordinates", z[..., :-1] ** 2 - 1, z[..., 1:] ** 2 - 1),
    ):
        scale = 2.0 if name.startswith("sizes") else 1.0  # Var(z²) = 2
        score = float((a * b).sum() / (scale * np.sqrt(a.size)))
        yield name, f"z = {score:+.2f}", _normal(score)


def _largest_lag(votes: Array) -> tuple[int, float]:
    """max_l |Σ z_i z_{i+l}| / √N over 0 < l ≤ d/2, around the end; at d/2 each product comes twice."""
    v, d = votes.shape
    total = np.zeros(d // 2 + 1)
    for row in votes:
        total += np.fft.irfft(np.abs(np.fft.rfft(row)) ** 2, d)[: d // 2 + 1]
    score = np.abs(total) / math.sqrt(v * d)
    if d % 2 == 0:
        score[-1] /= math.sqrt(2)
    lag = 1 + int(np.argmax(score[1:]))
    return lag, float(score[lag])


def _normal(z: float, tests: int = 1) -> float:
    """2 Φ(−|z|), by Bonferroni for the largest of several."""
    return min(1.0, 2.0 * tests * float(ndtr(-abs(z))))


def _kolmogorov(u: Array) -> tuple[float, float]:
    """D = sup |F_N(t) − t| of numbers that should be uniform on [0, 1], and P[D or more]."""
    from scipy.stats import kstest

    found = kstest(u.ravel(), "uniform", method="exact")
    return float(found.statistic), float(found.pvalue)


def _largest_cosine(rows: Array) -> tuple[float, float]:
    """max |cos| over all pairs of rows of independent normals, and its p-value: cos² ~ Beta(½, (d − 1)/2).

    A row that comes twice has cosine 1, however many rows there are.
    """
    v, d = rows.shape
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    largest = 0.0
    for start in range(0, v, 512):
        cosines = np.abs(unit[start : start + 512] @ unit[start:].T)
        np.fill_diagonal(cosines, 0.0)
        largest = max(largest, float(cosines.max()))
    tail = float(betaincc(0.5, (d - 1) / 2, min(1.0, largest**2)))
    return largest, min(1.0, math.comb(v, 2) * tail)
