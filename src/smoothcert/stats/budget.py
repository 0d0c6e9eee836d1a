"""So many votes for a set of images: each gets as many as its pilot says will pay."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError
from smoothcert.stats.binomial import least_n
from smoothcert.stats.planning import expected_radius

_SIZES = 300
_DEAREST, _CHEAPEST = 1.0, 1e-12  # radius in σ that one more vote must bring: nobody gets more, everybody gets all
_HALVINGS = 24  # to 1.6e-6 of the price; closer to a price where a plan changes, rounding would decide which one it is


def share_out(pilot_errors: Sequence[int], budget: int, alpha: float, n0: int, n: int) -> tuple[int, ...]:
    """n(e₀) = argmax_n E[R(n, Z) | e₀] − λ n,  λ the least price with Σ_i (n₀ + n(e₀ᵢ)) ≤ budget.

    pilot_errors: e₀ᵢ of every image; each had n₀ votes. Returns n after 0, 1, …, n₀ errors. At the price λ the plan
    jumps; what the plan above leaves goes to the images for which both differ. R in units of σ, Z flat before the
    pilot (`expected_radius`). Between the fewest votes that can certify anything and n an image gets.

    Nothing here bears on validity: n is a function of pilot votes, and only votes drawn after them are counted.
    """
    images = np.bincount(np.asarray(pilot_errors, np.int64), minlength=n0 + 1)
    require_affordable(len(pilot_errors), budget, alpha, n0)
    left = budget - n0 * len(pilot_errors)
    sizes, value = _values(alpha, n0, n)

    def plan(price: float) -> list[int]:
        return [int(size) for size in sizes[np.argmax(value - price * sizes, axis=1)]]

    def cost(votes: list[int]) -> int:
        return sum(int(count) * size for count, size in zip(images, votes, strict=True))

    dear, cheap = _DEAREST, _CHEAPEST
    if cost(plan(cheap)) <= left:
        return tuple(plan(cheap))
    for _ in range(_HALVINGS):
        price = float(np.sqrt(dear * cheap))
        dear, cheap = (price, cheap) if cost(plan(price)) <= left else (dear, price)
    low, high = plan(dear), plan(cheap)
    rest, more = left - cost(low), cost(high) - cost(low)
    return tuple(a + (b - a) * rest // more for a, b in zip(low, high, strict=True))


@lru_cache(maxsize=4)
def _values(alpha: float, n0: int, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The n to choose from, and E[R(n, Z) | e₀] for all of them."""
    sizes = np.unique(np.geomspace(least_n(alpha), n, _SIZES).round())
    return sizes, expected_radius(alpha, n0, sizes)


def require_affordable(images: int, budget: int, alpha: float, n0: int) -> None:
    """The pilot and the fewest votes that can certify anything, for every image."""
    least = (n0 + least_n(alpha)) * images
    if budget < least:
        raise InputError(
            f"a budget of {budget:,} votes is too small for {images:,} images: give at least {least:,}, or select "
            "fewer images with --every"
        )
