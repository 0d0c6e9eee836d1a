"""Certificates of a linear classifier, whose exact radius is known: the theorem exactly, coverage by counting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from smoothcert.audit.check import Check, yes
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, GridNoise, Noise
from smoothcert.noise.exact_law import GRID
from smoothcert.noise.stream import generator_for
from smoothcert.procedures.bound import BOUNDS
from smoothcert.procedures.procedure import PROCEDURES
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.grid_image import rounded

SIZE = 16  # dimensions
P_A = 0.9  # far enough from 1/2 for n₀ = 50 votes: they choose the wrong class with probability 10⁻⁹
N0, N, ALPHA = 50, 2000, 0.1  # many failures are allowed, so that their number can be compared


def check_theorem(noise: Noise) -> Iterator[Check]:
    """f = [x₁ ≤ m] has the error rate 1 − F(m) and the radius m, for every m."""
    name = type(noise).__name__.lower()
    for margin in (0.05, 0.4, 0.9):
        m = margin * noise.scale
        found = noise.radius_from_error(float(noise.marginal.sf(m)))
        near = abs(found - m) <= 1e-9 * noise.scale
        yield yes(name, f"radius of a half-space at {margin:g} scale", f"{found / noise.scale:.9f}", near)
    nothing = noise.radius_from_error(0.5) == noise.radius_from_error(0.6) == 0
    yield yes(name, "no radius without a majority", str(nothing), nothing)


def check_coverage(
    noise: Noise, points: int, seed: int, device: torch.device, procedure: str = "paper", bound: str = "single"
) -> list[Check]:
    """f(x) = sign(w·x): p_A = F(margin), and the exact radius is the margin; P[claimed > exact] ≤ α is promised.

    Any w will do for Gaussian noise; the ℓ₁ radii of Laplace and uniform noise are exact along a coordinate axis. The
    number of false claims is held against α; that of CERTIFY also against the exact error of Clopper–Pearson at this n
    and p_A, which is a little less: a certificate that never failed would be too modest. On the grid the classes meet
    half a step beside x₁ = 0, which f gives to the other class.
    """
    from scipy.stats import beta, binom, binomtest

    w, x = _points(noise, points, seed)
    half = 0.5 / GRID if isinstance(noise, GridNoise) else 0.0
    margins = (x.double() @ w.double()).numpy() - half  # exact to 1e-7 of what f computes in float32
    p_a = float(noise.marginal.cdf(margins[0])) if half else P_A

    def f(batch: Tensor) -> Tensor:
        score = batch @ w.to(batch.device)
        return torch.stack([-score, score, torch.full_like(score, -100.0)], 1)

    g = SmoothedClassifier(f, noise, 3, seed=seed, device=device, image_dims=1)
    radii = None if procedure == "paper" else tuple(noise.scale * r for r in (0.0, 0.2, 0.4, 0.6, 0.8))
    found = g.certify_batch(x, N0, N, ALPHA, index=0, procedure=procedure, bound=bound, radii=radii)
    wrong = sum(not c.abstained and (c.label != 1 or c.radius > m) for c, m in zip(found, margins, strict=True))
    name, seen = type(noise).__name__.lower(), f"{wrong} of {points}"
    too_many = float(binom.sf(wrong - 1, points, ALPHA))
    checks = [Check(name, f"{procedure}, {bound} bound: claims beyond the exact radius", seen, too_many)]
    if (procedure, bound) == ("paper", "single"):
        k = np.arange(1, N + 1)
        expected = float(binom.pmf(k, N, p_a)[beta.ppf(ALPHA, k, N - k + 1) > p_a].sum())
        other = float(binomtest(int(wrong), points, expected).pvalue)
        checks.append(Check(name, f"the same, expected {expected:.4f}", seen, other))
    else:  # a fifth of the true radius is little; grids floor it
        modest = float(np.mean([c.radius for c in found])) < 0.2 * float(np.mean(margins))
        checks.append(yes(name, f"{procedure}, {bound} bound: radii worth having", f"not {modest}", not modest))
    return checks


def check_all_coverage(noise: Noise, points: int, seed: int, device: torch.device) -> Iterator[Check]:
    """All procedures with all bounds that are proved for this noise."""
    for procedure in PROCEDURES:
        for bound, proof in BOUNDS.items():
            try:
                proof.require(noise)
            except InputError:
                continue
            few = points if procedure == "paper" else -(-points // 3)
            yield from check_coverage(noise, few, seed, device, procedure, bound)


def _points(noise: Noise, points: int, seed: int) -> tuple[Tensor, Tensor]:
    """w with ‖w‖₂ = 1, and points at distance F⁻¹(P_A) from the plane w·x = 0, on the grid where the noise is."""
    generator = generator_for(torch.device("cpu"), seed, "selftest-coverage")
    w = torch.eye(SIZE)[0]
    if isinstance(noise, Gaussian):
        w = torch.randn(SIZE, generator=generator)
        w /= w.norm()
    x = torch.randn(points, SIZE, generator=generator)
    x += (float(noise.marginal.ppf(P_A)) - x @ w)[:, None] * w
    return w, rounded(x) if isinstance(noise, GridNoise) else x
