"""Certify a grid of radii with fewer votes: exact group-sequential boundaries, integers to compare with."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError

_FIRST_LOOK, _RATIO = 50, 1.15
# α is spent up to this share only. The rest, ≥ 1e-6 α, pays for all that is inexact: tails dropped from the
# recursion (≤ 4e-20 a look) and float64 sums of non-negative terms (relative error < 1e-10).
_MARGIN = 1 - 1e-6
_LOG_TAIL = math.log(1e20)
# Where going on is no longer worth its votes: at n = t · cap, a test statistic z below this. Bayes-optimal
# for a Brownian motion with a flat prior on its drift, at α = 0.001 and a vote price of 0.2.
_FUTILITY_ALPHA = 0.001
_FUTILITY = {
    0.0020: -3.13, 0.0030: -3.11, 0.0045: -2.85, 0.0067: -2.70, 0.0099: -2.51, 0.0148: -2.30, 0.0222: -2.01,
    0.0331: -1.76, 0.0494: -1.44, 0.0738: -1.10, 0.1102: -0.72, 0.1646: -0.27, 0.2458: 0.20, 0.3670: 0.74,
    0.5480: 1.40, 0.8183: 2.24, 1.0: 3.15,
}  # fmt: skip


class Spending(NamedTuple):
    """α*(n) = α (first + middle √((n − n₁)/(cap − n₁))) for n₁ ≤ n < cap, then α: when one test spends its α.

    n₁ is the first n at which a path without error can be accepted. Hard thresholds put much on that path,
    easy ones little; what is left is spent at the cap, where it buys most power.
    """

    cap: int
    first: float
    middle: float


class Decision(NamedTuple):
    """What is known after a look: which hypotheses fell, how many radii are certified, whether to stop."""

    rejected: NDArray[np.bool_]  # (J,)
    certified: int  # the radii 0 … certified − 1 of the grid hold
    stop: bool


@dataclass(frozen=True, eq=False)
class SequentialTable:
    """After looks[k] votes with e errors: accept z_j if e ≤ a[j, k], give up on it if e ≥ b[j, k].

    Nothing but integers is compared when votes come in, so a decision cannot depend on a machine's rounding.
    """

    alpha: float
    z: NDArray[np.float64]  # (J,) increasing thresholds r_j / σ
    unreachable: NDArray[np.float64]  # thresholds no path can reach before its cap: dropped
    caps: NDArray[np.int64]  # (J,) votes after which z_j is not pursued
    looks: NDArray[np.int64]  # (K,) increasing cumulative votes
    accept: NDArray[np.int64]  # (J, K), −1: never
    futile: NDArray[np.int64]  # (J + 1, K); its last row is 0: with all J accepted nothing is left to do

    def __post_init__(self) -> None:
        for array in (self.z, self.unreachable, self.caps, self.looks, self.accept, self.futile):
            array.setflags(write=False)  # a table that could change would not have one fingerprint

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over every number that decides: two tables that agree in it decide alike."""
        digest = hashlib.sha256(b"smoothcert group-sequential table 1")
        for real in (np.array(self.alpha), self.z, self.unreachable):
            digest.update(f"|{real.shape}|".encode() + real.astype("<f8").tobytes())
        for whole in (self.caps, self.looks, self.accept, self.futile):
            digest.update(f"|{whole.shape}|".encode() + whole.astype("<i8").tobytes())
        return digest.hexdigest()


def sequential_table(z: Iterable[float], alpha: float, n: int = 100_000) -> SequentialTable:
    """P_q[∃k: E_k ≤ a[j, k]] ≤ α for q ≥ q_j = Φ(−z_j): exact boundaries for every threshold z_j = r_j / σ.

    Promise, for every error rate q of the class: with probability ≥ 1 − α no radius is certified that q does
    not allow, whatever the stopping rule (`standing`'s, a label, a time limit).

    Proof. (1) For one j the recursion adds up P_{q_j} of all paths that it lets through, and never exceeds α.
    Under q > q_j errors are pathwise more numerous (couple both through the same uniforms), so crossing is
    less likely. (2) H_j: q ≥ q_j. The larger j, the smaller q_j and the larger the hypothesis, so the true
    ones are all j ≥ j*. A radius is certified only when all hypotheses up to its own fell; a false
    certificate therefore needs the rejection of H_{j*}, a single test of level α: no union over radii.
    (3) Futility, labels and schedules only take chances to reject away.

    `n` is the fixed sample size this competes with; caps are 1.15 n, or 1.3 n where errors are rare.
    """
    grid = np.array(list(z), np.float64)
    if not 1e-10 <= alpha < 1:  # below it the margin would no longer pay for the dropped tails
        raise InputError(f"alpha must lie between 1e-10 and 1, not {alpha}")
    if n < 1:
        raise InputError(f"n must be at least 1, not {n}")
    if grid.size == 0 or not (np.all(np.isfinite(grid)) and grid[0] >= 0 and np.all(np.diff(grid) > 0)):
        raise InputError("the radii must be finite, at least 0, and strictly increasing; give at least one")
    rates = [error_rate(value) for value in grid]
    spendings = [_spending(q, alpha, n) for q in rates]
    # Reachable falls with z: only the hardest thresholds, which all have the largest cap, can fail it.
    reach = sum(_first_chance(q, alpha, 1.0) <= s.cap for q, s in zip(rates, spendings, strict=True))
    rates, spendings = rates[:reach], spendings[:reach]
    looks = _looks(rates, spendings, alpha)
    pairs = list(zip(rates, spendings, strict=True))
    accept = [_accept_boundary(q, alpha, s, looks) for q, s in pairs]
    futile = [_futility_boundary(q, alpha, s.cap, looks) for q, s in pairs]
    return SequentialTable(
        alpha=alpha,
        z=grid[:reach],
        unreachable=grid[reach:],
        caps=np.array([s.cap for s in spendings], np.int64),
        looks=np.array(looks, np.int64),
        accept=np.array(accept, np.int64).reshape(reach, len(looks)),
        futile=np.array([*futile, [0] * len(looks)], np.int64),
    )


def standing(table: SequentialTable, path: Sequence[int]) -> Decision:
    """certified = #{leading j: e_i ≤ a[j, i] at some look i ≤ k};  stop as soon as e_k ≥ b[certified, k].

    path[i] counts the votes up to look i that were not for the class, which must have been fixed without them. A look
    may be skipped, never added. Whether the path went on after a stop is not asked.
    """
    k = len(path) - 1
    rejected = np.logical_or.reduce(np.asarray(path)[:, None] <= table.accept.T[: k + 1], axis=0)
    certified = int(np.cumprod(rejected).sum())
    return Decision(rejected, certified, bool(path[k] >= table.futile[certified, k]))


def error_rate(z: float) -> float:
    """q = Φ(−z), rounded down: an error rate below it certifies the radius σz, also after r/σ was rounded."""
    from scipy.special import ndtr

    return float(ndtr(-z)) * (1 - 1e-12)


def _first_chance(q: float, alpha: float, share: float) -> float:
    """Least n with (1 − q)ⁿ ≤ share · α: before it not even a path without error is evidence."""
    return math.ceil(math.log(alpha * _MARGIN * share) / math.log1p(-q)) if q > 0 else math.inf


def hard_cap(n: int) -> int:
    """The votes for thresholds that take almost unanimous ones; all others have fewer."""
    return math.ceil(1.30 * n)


def _spending(q: float, alpha: float, n: int) -> Spending:
    """Chosen by simulation at α = 0.001, n = 100,000 for z ≥ 2.9, z ≥ 2.4 and below.

    Carried over to other α and n through the share of n that a path without error needs at z.
    """
    share = _first_chance(q, alpha, 1.0) / n
    if share >= 0.037:
        return Spending(hard_cap(n), 0.6, 0.2)
    if share >= 0.0084:
        return Spending(math.ceil(1.15 * n), 0.1, 0.4)
    return Spending(math.ceil(1.15 * n), 0.01, 0.5)


def _looks(rates: list[float], spendings: list[Spending], alpha: float) -> list[int]:
    """A geometric grid, every cap, and for hard thresholds the very vote at which a clean path is enough."""
    last = max((s.cap for s in spendings), default=0)
    looks = {s.cap for s in spendings}
    for q, s in zip(rates, spendings, strict=True):
        clean = _first_chance(q, alpha, s.first)
        if s.first > 0.02 and clean < s.cap:
            looks.add(int(clean))
    step = float(_FIRST_LOOK)
    while step < last:
        looks.add(round(step))
        step *= _RATIO
    return sorted(looks)


def _spent_by(n: int, q: float, alpha: float, spending: Spending) -> float:
    """The share of α that may be spent once n votes are in."""
    if n >= spending.cap:
        return 1.0
    clean = _first_chance(q, alpha, spending.first)
    if n < clean:
        return 0.0
    return spending.first + spending.middle * math.sqrt((n - clean) / (spending.cap - clean))


def window(n: int, q: float) -> tuple[int, int]:
    """P[|Bin(n, q) − nq| > t] ≤ 2 exp(−t² / 2(nq(1−q) + t/3)) = 2e-20   [Bernstein]: nq − t and nq + t."""
    t = _LOG_TAIL / 3 + math.sqrt(_LOG_TAIL**2 / 9 + 2 * _LOG_TAIL * n * q * (1 - q))
    return max(0, math.floor(n * q - t)), min(n, math.ceil(n * q + t))


def binomial(n: int, q: float) -> tuple[int, NDArray[np.float64]]:
    """P[Bin(n, q) = low + i], i = 0, 1, …, on its window.

    From p(k+1)/p(k) = (n−k)/(k+1) · q/(1−q) and Σp = 1: no factorial, and a relative error below 1e-12.
    """
    low, high = window(n, q)
    k = np.arange(low, high, dtype=np.float64)
    log_p = np.concatenate(([0.0], np.cumsum(np.log((n - k) / (k + 1)) + math.log(q) - math.log1p(-q))))
    p = np.exp(log_p - log_p.max())
    return low, p / p.sum()


def _accept_boundary(q: float, alpha: float, spending: Spending, looks: list[int]) -> list[int]:
    """a[k] = max{e: P_q[crossed before k] + P_q[not crossed, E_k ≤ e] ≤ α*(n_k)}; unused α is carried on.

    mass[i] = P_q[E = low + i, nothing crossed]. Errors only accumulate, hence a never falls. All terms are
    non-negative, hence no cancellation: plain convolution is both exact enough and fast enough.
    """
    mass, low, before, spent, boundary = np.ones(1), 0, 0, 0.0, [-1]
    for n in looks:
        if n > spending.cap:  # all spent; a smaller or equal count would have crossed before
            boundary.append(boundary[-1])
            continue
        start, step = binomial(n - before, q)
        mass, low, before = np.convolve(mass, step), low + start, n
        lowest, highest = window(n, q)  # what lies outside is paid for by the margin
        cut = max(0, lowest - low)
        mass, low = mass[cut : highest + 1 - low], low + cut
        share = _spent_by(n, q, alpha, spending)
        if share == 0:
            boundary.append(-1)
            continue
        take = int(np.searchsorted(np.cumsum(mass), alpha * _MARGIN * share - spent, side="right"))
        spent += float(mass[:take].sum())
        mass, low = mass[take:], low + take
        boundary.append(max(boundary[-1], low - 1))
    return boundary[1:]


def _futility_boundary(q: float, alpha: float, cap: int, looks: list[int]) -> list[int]:
    """b[k] = min{e: −Φ⁻¹(P[Bin(n, q) < e] + ½ P[Bin(n, q) = e]) < h(n / cap)}, and 0 from the cap on.

    Not binding: no α rests on it. Another α moves h by (z_α − z_.001)√t, which keeps the predictive
    probability of success, Φ((z − z_α √t)/√(1 − t)) under a flat prior, where it was.
    """
    from scipy.special import ndtr, ndtri

    shift = float(ndtri(_FUTILITY_ALPHA) - ndtri(alpha))
    boundary = []
    for n in looks:
        if n >= cap:
            boundary.append(0)
            continue
        t = n / cap
        h = float(np.interp(math.log(t), np.log(list(_FUTILITY)), list(_FUTILITY.values())))
        level = ndtr(-h - shift * math.sqrt(t))
        low, p = binomial(n, q)
        boundary.append(low + int(np.searchsorted(np.cumsum(p) - p / 2, level, side="right")))
    return boundary
