"""The noise against its law: moments, tails, shape, length, and independence of everything that must be independent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy.special import chdtr, ndtri

from smoothcert.audit.check import Array, Check, kolmogorov_p_value, largest_cosine, normal_p_value
from smoothcert.audit.recording import Stream, record
from smoothcert.noise import Noise

SHAPE = (1, 28, 28)
TAILS = (1e-2, 1e-3, 1e-4, 1e-5)
OTHER_BATCH = 77  # not a divisor of a block, so that blocks are cut


def streams(seed: int) -> list[Stream]:
    """Neighbours of each other in every part of the key; the last seed agrees with the first in its low 32 bits."""
    seeds, stages = (seed, seed + 1, seed + 2**32), ("selection", "estimation")
    return [Stream(s, index, stage) for s in seeds for index in (0, 1, 2) for stage in stages]


def check_noise(noise: Noise, votes: int, seed: int, device: torch.device) -> tuple[list[Check], float]:
    """All checks of one law, on at least `votes` noises of the size of a MNIST image; and the largest |δ_j| / scale."""
    keys = streams(seed)
    each = -(-votes // len(keys))
    drawn = record(noise, keys, each, SHAPE, device, None)
    name = type(noise).__name__.lower()
    again = record(noise, keys[::-1], each, SHAPE, device, OTHER_BATCH).flip(0)
    same = bool(torch.equal(drawn, again))
    checks = [Check(name, "same noise in any batch and order", "bit by bit" if same else "differs", float(same))]
    u = noise.marginal.cdf(drawn.numpy().astype(np.float64))  # (S, V, d), uniform if all is well
    u = np.clip(u, 2.0**-26, 1 - 2.0**-26)  # the end of a range is drawn with probability 2⁻²⁴
    scores = ndtri(u)  # normal scores, δ/σ itself for a Gaussian: one theory for all laws
    for found in (*_moments(scores), *_law(u), *_independence(scores)):
        checks.append(Check(name, *found))
    return checks, float(drawn.abs().max()) / noise.scale


def _moments(z: Array) -> Iterator[tuple[str, str, float]]:
    """mean(z^k) = μ_k ± √((μ_2k − μ_k²)/N),  k = 1 … 4, with μ_2, μ_4, μ_6, μ_8 = 1, 3, 15, 105."""
    power = np.ones_like(z)
    for name, mu, variance in (("mean", 0, 1), ("variance", 1, 2), ("third moment", 0, 15), ("fourth moment", 3, 96)):
        power *= z
        score = float((power.mean() - mu) / np.sqrt(variance / z.size))
        yield name, f"z = {score:+.2f}", normal_p_value(score)


def _law(u: Array) -> Iterator[tuple[str, str, float]]:
    from scipy.stats import binomtest

    d, p_value = kolmogorov_p_value(u)
    yield "law of a coordinate (Kolmogorov–Smirnov)", f"D = {d:.2g}", p_value
    for tail in TAILS:
        for side, beyond in (("lower", u < tail), ("upper", u > 1 - tail)):
            seen = int(beyond.sum())
            p_value = float(binomtest(seen, u.size, tail).pvalue)
            yield f"{side} tail of probability {tail:g}", f"{seen} for {tail * u.size:.0f}", p_value


def _independence(z: Array) -> Iterator[tuple[str, str, float]]:
    s, v, d = z.shape
    votes = z.reshape(s * v, d)
    length, p_value = kolmogorov_p_value(chdtr(d, (votes**2).sum(1)))
    yield "law of ‖δ‖ (χ² of the normal scores)", f"D = {length:.2g}", p_value
    cosine, p_value = largest_cosine(votes)
    yield "any two votes: images, seeds, stages, blocks", f"largest |cos| {cosine:.3f}", p_value
    cosine, p_value = largest_cosine(votes.T)
    yield "any two coordinates", f"largest |cos| {cosine:.3f}", p_value
    flat = z.reshape(s, v * d)
    pairs = flat @ flat.T / np.sqrt(v * d)  # each ~ N(0, 1) off the diagonal
    largest = float(np.abs(pairs - np.diag(np.diag(pairs))).max())
    yield (
        "any two streams: images, seeds, stages",
        f"largest |z| {largest:.2f}",
        normal_p_value(largest, s * (s - 1) // 2),
    )
    for name, a, b in (
        ("neighbouring coordinates", z[..., :-1], z[..., 1:]),
        ("neighbouring votes", z[:, :-1], z[:, 1:]),
        ("sizes of neighbouring coordinates", z[..., :-1] ** 2 - 1, z[..., 1:] ** 2 - 1),
    ):
        scale = 2.0 if name.startswith("sizes") else 1.0  # Var(z²) = 2
        score = float((a * b).sum() / (scale * np.sqrt(a.size)))
        yield name, f"z = {score:+.2f}", normal_p_value(score)
