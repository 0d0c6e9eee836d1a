"""`adaptive`: a pilot plans n, a top-up saves a radius that is almost reached. For the average radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from smoothcert.errors import InputError
from smoothcert.stats.binomial import error_bound, least_n
from smoothcert.stats.group_sequential import error_rate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_FIRST_SHARE = 0.8  # of α for the planned look; the top-up has the rest
_WORTH_A_TOP_UP = 0.3  # predictive probability of reaching the next radius


@dataclass(frozen=True)
class Plan:
    """Everything `adaptive` will do, fixed before the first vote."""

    alpha: float
    z: tuple[float, ...]  # the radii of the table in units of σ; without them there is no top-up
    votes: tuple[int, ...]  # the n planned after 0, 1, …, n₀ errors of the pilot
    cap: int  # votes in all after a top-up
    goals: tuple[int, ...]  # most errors in `cap` votes with which a top-up still gains z_j; −1: none

    @property
    def first_alpha(self) -> float:
        return self.alpha * (_FIRST_SHARE if self.z else 1.0)

    @property
    def top_up_alpha(self) -> float:
        return self.alpha * (1.0 - _FIRST_SHARE)

    @property
    def levels(self) -> tuple[float, float]:
        """Of the planned look and of the top-up: they add up to α, or the first is all of it and there is no second."""
        return self.first_alpha, self.top_up_alpha

    def planned(self, pilot_errors: ArrayLike) -> NDArray[np.int64]:
        """n after so many errors among the n₀ pilot votes."""
        e0 = np.asarray(pilot_errors, np.int64)
        if e0.size and not (np.all(e0 >= 0) and np.all(e0 < len(self.votes))):
            raise InputError(f"the pilot's errors must lie between 0 and n0 = {len(self.votes) - 1}")
        return np.array(self.votes, np.int64)[e0]


@lru_cache(maxsize=16)
def plan_votes(alpha: float, z: tuple[float, ...] = (), n0: int = 100, n: int = 100_000, price: float = 3.5e-7) -> Plan:
    """n(e₀) = argmax_n E[R(n, Z) | e₀] − price · n,  R in units of σ, Z flat on [−2, 6] before the pilot.

    `price` is the radius (in σ) one more vote must bring; the default costs at most 0.5 % of the average
    certified radius on the published logs. R(n, z) is taken at the expected count. Plans reach from 100 to n
    votes, top-ups to 1.3 n. Nothing here bears on validity: any function of e₀ would do.
    """
    from scipy.special import betainccinv, ndtr, ndtri

    if not (n0 >= 1 and n >= least_n(alpha) and 0 <= price < math.inf):
        raise InputError(f"adaptive needs n0 >= 1, n >= {least_n(alpha)} at this alpha, and a price >= 0")
    if any(not (math.isfinite(value) and value >= 0) for value in z) or list(z) != sorted(set(z)):
        raise InputError("the radii must be finite, at least 0, and strictly increasing")
    cap = math.ceil(1.3 * n)
    empty = Plan(alpha, z, (), cap, ())
    sizes = np.unique(np.geomspace(min(100, n), n, 150).round())
    prior = np.arange(-2.0, 6.0, 0.02)
    q = ndtr(-prior)
    bound = betainccinv(sizes[:, None] * q + 1, sizes[:, None] * (1 - q), empty.first_alpha)
    radius = np.maximum(0.0, -ndtri(bound))  # (sizes, prior)
    e0 = np.arange(n0 + 1)[:, None]
    log_posterior = e0 * np.log(q) + (n0 - e0) * np.log1p(-q)  # (n0 + 1, prior)
    posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    best = np.argmax(posterior @ radius.T - price * sizes, axis=1)
    goals = tuple(_most_errors(error_rate(value), cap, empty.top_up_alpha) for value in z)
    return Plan(alpha, z, tuple(int(size) for size in sizes[best]), cap, goals)


def top_up(plan: Plan, pilot_errors: ArrayLike, errors: ArrayLike) -> NDArray[np.bool_]:
    """P[E_cap ≤ goal_j | e of n] > 0.3 for the first radius z_j not yet certified: go on to `plan.cap` votes?

    The prediction is beta-binomial (Jeffreys), in its normal approximation: again a matter of cost alone.
    """
    from scipy.special import ndtr

    e, n = np.broadcast_arrays(np.asarray(errors, np.float64), plan.planned(pilot_errors))
    rates = np.array([error_rate(value) for value in plan.z])
    reached = (planned_bound(plan, pilot_errors, errors)[..., None] <= rates).sum(axis=-1)
    goal = np.array([*plan.goals, -1])[reached]  # all reached: nothing to go on for
    more, rate = plan.cap - n, (e + 0.5) / (n + 1)
    spread = np.sqrt(more * rate * (1 - rate) * (plan.cap + 1) / (n + 2))
    return (goal >= e) & (ndtr((goal + 0.5 - e - more * rate) / spread) > _WORTH_A_TOP_UP)


def planned_bound(
    plan: Plan, pilot_errors: ArrayLike, errors: ArrayLike, errors_at_cap: ArrayLike | None = None
) -> NDArray[np.float64]:
    """q̄ = min(CP(e of n(e₀); 0.8 α), CP(e' of cap; 0.2 α)): an upper bound on the error rate of the class.

    `errors` counts fresh votes, not the pilot's; a top-up continues the SAME sample to `plan.cap` votes.

    Promise: P[q̄ < q] ≤ α for every q.

    Proof. Given the pilot, n is a constant and the fresh votes are independent of it, so the first bound
    fails with probability ≤ 0.8 α. Imagine the sample always continued to the cap, a constant too: the second
    bound fails with probability ≤ 0.2 α. Whatever the reason for looking at it or not, a failure is one of
    these two events.
    """
    first = error_bound(errors, plan.planned(pilot_errors), plan.first_alpha)
    if errors_at_cap is None:
        return first
    if not plan.z:
        raise InputError("a plan without radii has spent all of alpha on its first look: it has no top-up")
    if np.any(np.asarray(errors_at_cap) < np.asarray(errors)):
        raise InputError("a top-up continues the same votes: its errors cannot be fewer")
    return np.minimum(first, error_bound(errors_at_cap, plan.cap, plan.top_up_alpha))


def _most_errors(q: float, n: int, alpha: float) -> int:
    """max{k: CP(k of n; α) ≤ q}, by bisection; −1 if there is none."""
    low, high = -1, n
    while high - low > 1:
        middle = (low + high) // 2
        if error_bound(middle, n, alpha) <= q:
            low = middle
        else:
            high = middle
    return low
