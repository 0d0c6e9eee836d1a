"""What votes of a few images say about the ways to a certificate, and which of them is worth it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from smoothcert.noise import Gaussian
from smoothcert.procedures.fixed import Fixed

Way = Literal["as is", "denoiser", "fine-tune", "train", "check the input"]
WORTH = 0.8
"""a way is worth it if it keeps this share of the clean accuracy at the radius asked for"""
_N = 100_000  # votes of a certification as papers report them


@dataclass(frozen=True)
class Measured:
    """What f does under Gaussian noise of one σ. An estimate from few votes: no certificate."""

    sigma: float
    denoised: bool
    clean: float
    """accuracy of f without noise; behind a denoiser, of both on images without noise"""
    noisy: float
    """accuracy of f on single noisy images"""
    certified: float
    """share of images whose estimated radius σ Φ⁻¹(p̂_A) reaches the radius asked for; 0 where no votes, or not so few
    of them, can show it"""
    reach: float
    """the largest radius that 100,000 votes can certify"""


@dataclass(frozen=True)
class Advice:
    """Which way to a certificate at this radius is worth it, and what it rests on."""

    way: Way
    sigma: float
    """under which to go on"""
    radius: float
    clean: float
    """accuracy of the model without noise"""
    images: int
    votes: int
    measured: tuple[Measured, ...]
    warnings: tuple[str, ...]

    def best(self, denoised: bool) -> Measured | None:
        """The σ with the largest expected certified accuracy, and of equals the best under noise."""
        found = [m for m in self.measured if m.denoised == denoised]
        return max(found, key=lambda m: (m.certified, m.noisy), default=None)


def largest_radius(sigma: float) -> float:
    """R = σ Φ⁻¹(α^(1/n)) at n = 100,000 and α = 0.001: 3.81 σ."""
    return Fixed(Gaussian(sigma), n=_N).largest


def measure(
    votes: NDArray[np.int64], labels: NDArray[np.int64], sigma: float, radius: float, clean: float, denoised: bool
) -> Measured:
    """From the votes (B, K) of B images: R̂ = min(σ Φ⁻¹(p̂), what 100,000 votes reach),  p̂ = (k + ½)/(n + 1).

    k of the n votes are for the label. The half is for unanimous votes: 100 of 100 do not show p = 1, and count as
    2.58 σ. Where no more than half of the votes are for the label, an image counts 0.
    """
    k, n = votes[np.arange(len(labels)), labels], votes.sum(1)
    right, reach = (k + 0.5) / (n + 1), largest_radius(sigma)
    estimated = np.where(right > 0.5, np.minimum(sigma * ndtri(right), reach), -math.inf)
    return Measured(sigma, denoised, clean, float((k / n).mean()), float((estimated >= radius).mean()), reach)


def advise_on(
    measured: Sequence[Measured], clean: float, radius: float, num_classes: int, images: int, votes: int, tunable: bool
) -> Advice:
    """As is or behind the denoiser, whichever is expected to certify more, if that is 80 % of the clean accuracy.

    Else fine-tune, if its weights can be trained; else train a network under noise. At chance it is neither.
    """
    chance = 1 / num_classes
    # Two standard errors of a guess, and five points: a model that is better than this has seen such images.
    lost = clean <= chance + 2 * math.sqrt(chance * (1 - chance) / images) + 0.05
    whole = Advice("train", _training_sigma(measured, radius), radius, clean, images, votes, tuple(measured), ())
    found = [m for m in (whole.best(denoised=False), whole.best(denoised=True)) if m is not None]
    best = max(found, key=lambda m: m.certified)  # of equals the first: as is
    way: Way = "fine-tune" if tunable else "train"
    sigma = whole.sigma
    if lost:
        way = "check the input"
    elif best.certified >= max(WORTH * clean, chance):
        way, sigma = ("denoiser" if best.denoised else "as is"), best.sigma
    return Advice(way, sigma, radius, clean, images, votes, tuple(measured), tuple(_warnings(whole, lost, chance)))


def _training_sigma(measured: Sequence[Measured], radius: float) -> float:
    """The smallest σ ≥ r/2, where a radius r needs p_A ≥ .977; what `docs/choosing.md` says."""
    sigmas = sorted({m.sigma for m in measured})
    return next((sigma for sigma in sigmas if sigma >= radius / 2), sigmas[-1])


def _shown(votes: int) -> float:
    """The radius in units of σ that unanimous votes count as."""
    return float(ndtri((votes + 0.5) / (votes + 1)))


def _warnings(found: Advice, lost: bool, chance: float) -> list[str]:
    said = []
    if lost:
        said.append(
            f"clean accuracy is {100 * found.clean:.0f} %, near chance: the model may expect another range or "
            "normalization of its input, or another order of classes"
        )
    behind = [m for m in found.measured if m.denoised and not lost]
    if behind:
        # Under little noise a denoiser has little to do: one that loses half of what f knows is fed wrongly.
        least = min(behind, key=lambda m: m.sigma)
        if least.clean < (found.clean + chance) / 2:
            said.append(
                f"behind the denoiser clean accuracy falls from {100 * found.clean:.0f} to {100 * least.clean:.0f} % "
                f"at σ = {least.sigma:g}: the denoiser may expect another scale, such as [−1, 1]"
            )
    if all(m.reach < found.radius for m in found.measured):
        largest = max(m.sigma for m in found.measured)
        said.append(
            f"no σ up to {largest:g} can certify radius {found.radius:g}: 100,000 votes reach 3.81 σ, and 2 σ is usual"
        )
    elif all(m.sigma * _shown(found.votes) < found.radius for m in found.measured):
        said.append(
            f"{found.votes:,} votes show radii up to {_shown(found.votes):.2f} σ, which is less than {found.radius:g} "
            "for every σ tried: ask for more votes, or try a larger σ"
        )
    return said
