"""`adaptive`: a pilot plans n, a top-up saves a radius that is almost reached. For the average radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothcert.errors import InputError
from smoothcert.stats.binomial import error_bound
from smoothcert.stats.group_sequential import error_rate
from smoothcert.stats.two_looks import TwoLooks

_FIRST_SHARE = 0.8  # of α for the planned look; the top-up has the rest
_EXACT_SHARE = 0.9  # the same under the joint law of both looks, which leaves the top-up .1 to .4 of α
_WORTH_A_TOP_UP = 0.3  # predictive probability of reaching the next radius


@dataclass(frozen=True)
class VotePlan:
    """Everything `adaptive` will do, fixed before the first vote."""

    alpha: float
    z: tuple[float, ...]  # the radii of the table in units of σ; without them there is no top-up
    votes: tuple[int, ...]  # the n planned after 0, 1, …, n₀ errors of the pilot
    cap: int  # votes in all after a top-up
    goals: tuple[int, ...]  # most errors in `cap` votes with which a top-up still gains z_j; −1: none
    exact: bool = True  # False: α is divided between the looks, as in logs older than `TwoLooks`

    def bound(self, n: int) -> TwoLooks:
        """What both looks prove together where n votes were planned: all of α, by their joint law."""
        return TwoLooks(n, self.cap, _EXACT_SHARE if self.z else 1.0)

    @property
    def levels(self) -> tuple[float, float]:
        """Of the planned look and of the top-up: 0.8 α and 0.2 α, or α where there can be no top-up.

        This is the union that older logs rest on. Under the joint law (`bound`) the first look has 0.9 α, and the
        second number is used to plan top-ups only.

        q̄ = min(CP(e of n(e₀); 0.8 α), CP(e' of cap; 0.2 α)), e and e' counted in fresh votes, not the pilot's; a top-up
        continues the SAME sample to `cap` votes. Promise: P[q̄ < q] ≤ α for every q.

        Proof. Given the pilot, n is a constant and the fresh votes are independent of it, so the first bound
        fails with probability ≤ 0.8 α. Imagine the sample always continued to the cap, a constant too: the second
        bound fails with probability ≤ 0.2 α. Whatever the reason for looking at it or not, a failure is one of
        these two events.
        """
        first = _EXACT_SHARE if self.exact else _FIRST_SHARE
        return self.alpha * (first if self.z else 1.0), self.alpha * (1.0 - _FIRST_SHARE)

    def planned(self, pilot_errors: ArrayLike) -> NDArray[np.int64]:
        """n after so many errors among the n₀ pilot votes."""
        return np.array(self.votes, np.int64)[np.asarray(pilot_errors, np.int64)]


@lru_cache(maxsize=16)
def plan_votes(
    alpha: float,
    z: tuple[float, ...] = (),
    n0: int = 100,
    n: int = 100_000,
    price: float = 3.5e-7,
    exact: bool = True,
) -> VotePlan:
    """n(e₀) = argmax_n E[R(n, Z) | e₀] − price · n,  R in units of σ, Z flat on [−2, 6] before the pilot.

    `price` is the radius (in σ) one more vote must bring; the default costs at most 0.5 % of the average
    certified radius on the published logs. R(n, z) is taken at the expected count. Plans reach from 100 to n
    votes, top-ups to 1.3 n. Nothing here bears on validity: any function of e₀ would do.
    """
    if n0 < 1:
        raise InputError("n0 must be at least 1: the pilot needs a vote")
    cap = math.ceil(1.3 * n)
    empty = VotePlan(alpha, z, (), cap, (), exact)
    sizes = np.unique(np.geomspace(min(100, n), n, 150).round())
    best = np.argmax(expected_radius(empty.levels[0], n0, sizes) - price * sizes, axis=1)
    goals = tuple(_most_errors(error_rate(value), cap, empty.levels[1]) for value in z)
    return VotePlan(alpha, z, tuple(int(size) for size in sizes[best]), cap, goals, exact)


def expected_radius(alpha: float, n0: int, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """E[R(n, Z) | e₀] for e₀ = 0 … n₀ (rows) and every n of `sizes`, R in units of σ, Z flat on [−2, 6].

    R(n, z) is taken at the expected count: for plans, not for promises.
    """
    from scipy.special import betainccinv, ndtr, ndtri

    prior = np.arange(-2.0, 6.0, 0.02)
    q = ndtr(-prior)
    bound = betainccinv(sizes[:, None] * q + 1, sizes[:, None] * (1 - q), alpha)
    radius = np.maximum(0.0, -ndtri(bound))  # (sizes, prior)
    e0 = np.arange(n0 + 1)[:, None]
    log_posterior = e0 * np.log(q) + (n0 - e0) * np.log1p(-q)  # (n0 + 1, prior)
    posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    return np.asarray(posterior @ radius.T)


def top_up(plan: VotePlan, pilot_errors: ArrayLike, errors: ArrayLike) -> NDArray[np.bool_]:
    """P[E_cap ≤ goal_j | e of n] > 0.3 for the first radius z_j not yet certified: go on to `plan.cap` votes?

    The prediction is beta-binomial (Jeffreys), in its normal approximation: again a matter of cost alone.
    """
    from scipy.special import ndtr

    e, n = np.broadcast_arrays(np.asarray(errors, np.float64), plan.planned(pilot_errors))
    rates = np.array([error_rate(value) for value in plan.z])
    reached = (error_bound(e, n, plan.levels[0])[..., None] <= rates).sum(axis=-1)
    goal = np.array([*plan.goals, -1])[reached]  # all reached: nothing to go on for
    more, rate = plan.cap - n, (e + 0.5) / (n + 1)
    spread = np.sqrt(more * rate * (1 - rate) * (plan.cap + 1) / (n + 2))
    return (goal >= e) & (ndtr((goal + 0.5 - e - more * rate) / spread) > _WORTH_A_TOP_UP)


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
