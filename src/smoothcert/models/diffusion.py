"""Schedules of diffusion models: how much of an image is left after t steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError, did_you_mean

STEPS = 1000
SCHEDULES = ("linear", "cosine")


def alpha_bar(schedule: str) -> NDArray[np.float64]:
    """ᾱ_t = Π_{s ≤ t} (1 − β_s),  t = 0, …, 999: the share of x in the variance of x_t.

    linear: β from 10⁻⁴ to 0.02 [Ho et al. 2020]; cosine: ᾱ_t = cos²(π/2 · (t/T + 0.008)/1.008) up to a factor, with
    β ≤ 0.999 [Nichol & Dhariwal 2021].

    >>> alpha_bar("linear")[0]
    np.float64(0.9999)
    """
    if schedule == "linear":
        beta: NDArray[Any] = np.linspace(1e-4, 0.02, STEPS)
    elif schedule == "cosine":
        left = np.cos((np.arange(STEPS + 1) / STEPS + 0.008) / 1.008 * np.pi / 2) ** 2
        beta = np.minimum(1 - left[1:] / left[:-1], 0.999)
    else:
        raise InputError(f"unknown schedule {schedule!r}{did_you_mean(schedule[:80], SCHEDULES)}")
    product: NDArray[np.float64] = np.cumprod(1 - beta)
    return product
