"""From a bound on probabilities to a radius, rounded down; None where nothing is certified."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.stats import error_bound, least_n
from smoothcert.stats.pair import PairBound

MOST_VOTES = 10**7  # tables for more would take minutes and say next to nothing new: 0.5 σ more radius


def single_radius(noise: Noise, q_a: float) -> float | None:
    """R = noise.radius_from_error(q_a) where q_a ≥ 1 − p_A; None if q_a > 1/2."""
    return None if q_a > 0.5 else round_down(noise.radius_from_error(q_a))


def pair_radius(noise: Noise, bound: PairBound) -> float | None:
    """R = σ/2 (Φ⁻¹(p̲1) − Φ⁻¹(p̄2))   [Cohen et al. 2019, Thm 1, eq. 3]; None if p̲1 < p̄2. Gaussian noise only."""
    gap = -float(ndtri(bound.error)) - float(ndtri(bound.runner_up))  # Φ⁻¹(p̲1) = −Φ⁻¹(1 − p̲1)
    return None if gap < 0 else round_down(noise.scale / 2 * gap)


def thresholds(noise: Noise, radii: tuple[float, ...]) -> tuple[float, ...]:
    """z_j = −Φ⁻¹(q_j),  q_j = max{q ≤ 1/2: the radius of q, rounded down, ≥ r_j}: an error rate below q_j allows r_j.

    By bisection on the noise's own theorem, so that it holds for every law; a Gaussian has z_j = r_j / σ. Radii
    beyond every q > 0, the last ones of the grid, are left out.
    """
    require_grid(radii)
    rates = (_largest_error(noise, radius) for radius in radii)
    return tuple(max(0.0, -float(ndtri(q))) for q in rates if q > 0)


def _largest_error(noise: Noise, radius: float) -> float:
    low, high = 0.0, 0.5
    if round_down(noise.radius_from_error(high)) >= radius:
        return high
    for _ in range(100):  # low is the end that is kept: there the radius is large enough
        middle = (low + high) / 2
        if round_down(noise.radius_from_error(middle)) >= radius:
            low = middle
        else:
            high = middle
    return low


def default_radii(noise: Noise, n: int, alpha: float) -> tuple[float, ...]:
    """0, 0.25, 0.5, … as far as n unanimous votes reach."""
    return tuple(0.25 * i for i in range(int(largest_radius(noise, n, alpha) / 0.25) + 1))


def largest_radius(noise: Noise, n: int, alpha: float) -> float:
    """The radius of n unanimous votes: noise.radius(α^(1/n)). No image can get more from this n."""
    require_enough(n, alpha)
    return round_down(noise.radius_from_error(float(error_bound(0, n, alpha))))


def round_down(radius: float) -> float:
    """A radius that arithmetic in float64 cannot have carried above the true one."""
    return float(np.nextafter(radius * (1 - 1e-9), 0.0)) if radius > 0 else 0.0


def require_drawable(n: int) -> None:
    if n > MOST_VOTES:
        raise InputError(f"n must be at most {MOST_VOTES:,}, not {n:,}")


def require_enough(n: int, alpha: float) -> None:
    """Refuse an n with which even unanimous votes certify nothing."""
    least = least_n(alpha)
    if n < least:
        raise InputError(f"n={n} votes can certify nothing at alpha={alpha:g}: use n >= {least}")


def require_grid(radii: tuple[float, ...]) -> None:
    if not radii or not all(math.isfinite(r) and r >= 0 for r in radii) or list(radii) != sorted(set(radii)):
        raise InputError("the radii must be finite, at least 0, and strictly increasing; give at least one")
