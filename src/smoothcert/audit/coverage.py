"""Certificates of a classifier whose exact radius is known: how often do they claim too much?"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from smoothcert.audit.check import Check
from smoothcert.noise import Gaussian, Noise
from smoothcert.noise.stream import generator_for
from smoothcert.smoothed.classifier import SmoothedClassifier

SIZE = 16  # dimensions
P_A = 0.9  # far enough from 1/2 for n₀ = 50 votes: they choose the wrong class with probability 10⁻⁹
N0, N, ALPHA = 50, 2000, 0.1  # many failures are allowed, so that their number can be compared


def check_coverage(noise: Noise, points: int, seed: int, device: torch.device) -> list[Check]:
    """f(x) = sign(w·x): p_A = F(margin), and the exact radius is the margin; P[claimed > exact] ≤ α is promised.

    Any w will do for Gaussian noise; the ℓ₁ radii of Laplace and uniform noise are exact along a coordinate axis. The
    number of false claims is held against α, and against the exact error of Clopper–Pearson at this n and p_A, which
    is a little less: a certificate that never failed would be too modest.
    """
    from scipy.stats import beta, binom, binomtest

    w, x = _points(noise, points, seed)
    margins = (x.double() @ w.double()).numpy()  # exact to 1e-7 of what f computes in float32

    def f(batch: Tensor) -> Tensor:
        score = batch @ w.to(batch.device)
        return torch.stack([-score, score], 1)

    g = SmoothedClassifier(f, noise, 2, seed=seed, device=device, image_dims=1)
    certificates = g.certify_batch(x, N0, N, ALPHA, index=0)
    wrong = sum(not c.abstained and (c.label != 1 or c.radius > m) for c, m in zip(certificates, margins, strict=True))
    k = np.arange(1, N + 1)
    expected = float(binom.pmf(k, N, P_A)[beta.ppf(ALPHA, k, N - k + 1) > P_A].sum())
    name, seen = type(noise).__name__.lower(), f"{wrong} of {points}"
    return [
        Check(
            name, f"claims beyond the exact radius, allowed {ALPHA:g}", seen, float(binom.sf(wrong - 1, points, ALPHA))
        ),
        Check(name, f"the same, expected {expected:.4f}", seen, float(binomtest(int(wrong), points, expected).pvalue)),
    ]


def _points(noise: Noise, points: int, seed: int) -> tuple[Tensor, Tensor]:
    """w with ‖w‖₂ = 1, and points at distance F⁻¹(P_A) from the plane w·x = 0."""
    generator = generator_for(torch.device("cpu"), seed, "selftest-coverage")
    w = torch.eye(SIZE)[0]
    if isinstance(noise, Gaussian):
        w = torch.randn(SIZE, generator=generator)
        w /= w.norm()
    x = torch.randn(points, SIZE, generator=generator)
    return w, x + (float(noise.marginal.ppf(P_A)) - x @ w)[:, None] * w
