"""The noise schedules of diffusion models: which step has the noise that is certified.

A network that was trained to predict the noise of a diffusion model knows images in [−1, 1] at steps t:

    x_t = √ᾱ_t x + √(1 − ᾱ_t) ε,   ε ~ N(0, I)

Divided by √ᾱ_t this is x plus noise of standard deviation s_t = √((1 − ᾱ_t)/ᾱ_t). So z = x + δ with noise of σ, in the
scale [−1, 1], is what the network knows at the step with s_t = σ, once it is multiplied by √ᾱ_t [Carlini et al. 2023].
Noise of σ on images in [0, 1] is noise of 2σ in [−1, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError, did_you_mean

SCHEDULES = ("linear", "cosine", "edm")
STEPS = 1000


@dataclass(frozen=True)
class Moment:
    """Where noise stands in a schedule: the network is given `scale` · z and told `t`, and takes the noise for s."""

    t: float
    """the step, a whole number; of "edm" s itself"""
    scale: float
    """√ᾱ_t; of "edm" 1"""
    s: float
    """s_t = √((1 − ᾱ_t)/ᾱ_t)"""


@cache
def alpha_bar(schedule: str) -> NDArray[np.float64]:
    """ᾱ_t = Π_{u ≤ t} (1 − β_u), t = 0 … 999.

    "linear": β from 10⁻⁴ to 0.02 in equal steps   [Ho et al. 2020].
    "cosine": β_t = min(1 − h(t + 1)/h(t), 0.999), h(t) = cos²((t/T + 0.008)/1.008 · π/2)   [Nichol & Dhariwal 2021].
    "edm" has no ᾱ: x_t = x + σ_t ε   [Karras et al. 2022].
    """
    if schedule == "linear":
        beta = np.linspace(1e-4, 0.02, STEPS)
    elif schedule == "cosine":
        h = np.cos((np.arange(STEPS + 1) / STEPS + 0.008) / 1.008 * math.pi / 2) ** 2
        beta = np.minimum(1 - h[1:] / h[:-1], 0.999)
    elif schedule == "edm":
        raise InputError("the schedule edm scales no image: it has no ᾱ, and any σ is a step of it")
    else:
        raise InputError(f"unknown schedule {schedule!r}{did_you_mean(str(schedule)[:80], SCHEDULES)}")
    found: NDArray[np.float64] = np.cumprod(1 - beta, dtype=np.float64)
    found.flags.writeable = False  # one array for all callers
    return found


@cache
def levels(schedule: str) -> NDArray[np.float64]:
    """s_t of each step, increasing."""
    a = alpha_bar(schedule)
    found = np.sqrt((1 - a) / a)
    found.flags.writeable = False
    return found


def step_of(schedule: str, sigma: float) -> int:
    """The step t whose s_t is nearest to σ by ratio; σ is in the model's scale, twice that of images in [0, 1].

    Steps are whole numbers, so s_t = σ holds to half a step: to within 1 % from σ = 0.2 to 10, in both schedules. About
    the rest nothing is done: the network takes the noise for s_t instead of σ. A certificate is of whatever f does, so
    it holds all the same. Below s_0 the step is 0; noise above the last level is refused.

    >>> step_of("linear", 1.0), step_of("cosine", 1.0)
    (258, 495)
    """
    s = levels(schedule)
    if not 0 < sigma <= s[-1]:
        raise InputError(f"the schedule {schedule} has noise up to σ = {s[-1]:.4g} in [−1, 1], not {sigma:g}")
    return int(np.abs(np.log(s) - math.log(sigma)).argmin())


@cache
def moment(schedule: str, sigma: float) -> Moment:
    """Where noise of σ, in the model's scale, stands in the schedule."""
    if schedule == "edm":
        if not 0 < sigma < math.inf:
            raise InputError(f"noise must have a positive σ, not {sigma:g}")
        return Moment(sigma, 1.0, sigma)
    t = step_of(schedule, sigma)
    return Moment(t, math.sqrt(alpha_bar(schedule)[t]), float(levels(schedule)[t]))
