"""How often a procedure claims more than is true: all votes walked from question to question, nothing sampled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from smoothcert.audit.check import Check, yes
from smoothcert.noise import Gaussian
from smoothcert.procedures.bound import BOUNDS
from smoothcert.procedures.certificate import Certificate, conclude
from smoothcert.procedures.curve import Curve
from smoothcert.procedures.evidence import Evidence
from smoothcert.procedures.prediction import predict
from smoothcert.procedures.procedure import PROCEDURES, Procedure, build
from smoothcert.procedures.radius import single_radius
from smoothcert.stats.confidence_sequence import anytime_bound
from smoothcert.stats.group_sequential import standing

NOISE, ALPHA = Gaussian(0.5), 0.05
N, N_PAIR, N_PAIR_CURVE = 60, 24, 12  # of three classes and many looks there are far more paths
RADII = (0.0, 0.2, 0.4, 0.6)
PILOTS = ((12, 0, 0), (9, 2, 1))

Array = NDArray[np.float64]


@dataclass
class End:
    """Votes after which a procedure stops, its certificate, and in how many orders they can come."""

    votes: tuple[int, ...]
    certificate: Certificate
    orders: int


def ends(procedure: Procedure, pilot: tuple[int, ...], pair: bool) -> list[End]:
    """Every way a sample of three classes can end, walked as the driver asks; `pair` tells the two others apart.

    One bound depends on the number of errors alone, which are dealt out to both others in turn.
    """
    states: dict[object, tuple[Evidence, int]] = {(): (Evidence().selected(pilot), 1)}
    found = list[End]()
    while states:
        arrived: dict[object, tuple[Evidence, int]] = {}
        for evidence, orders in states.values():
            ask = procedure.next(evidence)
            assert ask is not None
            before = evidence.estimation or (0, 0, 0)
            steps = ask.stop - sum(before)
            for votes, ways in _steps(before, steps, pair):
                looked = evidence.looked(votes)
                key = (_past(procedure, looked, pair), votes)
                arrived[key] = looked, orders * ways + (arrived[key][1] if key in arrived else 0)
        states = {}
        for past, (evidence, orders) in arrived.items():
            if procedure.next(evidence) is None:
                found.append(End(evidence.estimation, conclude(procedure, evidence), orders))
            else:
                states[past] = evidence, orders
    return found


def _steps(before: tuple[int, ...], steps: int, pair: bool) -> Iterator[tuple[tuple[int, int, int], int]]:
    a, b, c = before
    for errors in range(steps + 1):
        ways = math.comb(steps, errors)
        if pair:
            for second in range(errors + 1):
                yield (a + steps - errors, b + errors - second, c + second), ways * math.comb(errors, second)
        else:
            e = b + c + errors
            yield (a + steps - errors, e - e // 2, e // 2), ways


def _past(procedure: Procedure, evidence: Evidence, pair: bool) -> object:
    """What of the past still matters: for `curve` with one bound which radii fell, for the others everything."""
    if isinstance(procedure, Curve) and not pair:
        return tuple(standing(procedure.table, [look.errors for look in evidence.looks]).rejected)
    return evidence.looks


def single_error(found: list[End]) -> float:
    """sup_q P_q[a class is named though its radius is larger than σ Φ⁻¹(1 − q), or q > ½]: over all q, exactly.

    Between two radii the probability falls with q, so the q just beyond each radius that can be claimed are enough.
    """
    from scipy.special import ndtr

    claims = [end for end in found if not end.certificate.abstained]
    radii = np.array([end.certificate.radius for end in claims])
    errors = np.array([sum(end.votes[1:]) for end in claims])
    right = np.array([end.votes[0] for end in claims])
    log_orders = np.array([math.log(end.orders) for end in claims])
    rates = ndtr(-np.unique(radii) / NOISE.sigma) * (1 + 1e-7)
    worst = 0.0
    for q, radius in zip(rates, np.unique(radii), strict=True):
        p = np.exp(log_orders + errors * math.log(q) + right * math.log1p(-q))
        worst = max(worst, float(p[radii >= radius].sum()))
    return worst


def pair_error(found: list[End]) -> float:
    """max_p P_p[a class is named with a radius larger than σ/2 (Φ⁻¹(p_A) − Φ⁻¹(p_B))] over a grid of p."""
    from scipy.special import ndtri

    claims = [end for end in found if not end.certificate.abstained]
    radii = np.array([end.certificate.radius for end in claims])
    votes = np.array([end.votes for end in claims])
    log_orders = np.array([math.log(end.orders) for end in claims])
    worst, steps = 0.0, 40
    for b in range(1, steps):
        for c in range(1, min(b + 1, steps - b)):
            p = np.array([steps - b - c, b, c]) / steps
            true = NOISE.sigma / 2 * float(ndtri(p[0]) - ndtri(p[1]))
            worst = max(worst, float(np.exp(log_orders + votes @ np.log(p))[radii > true].sum()))
    return worst


def check_procedures() -> Iterator[Check]:
    """Every procedure with every bound; CERTIFY's error is just α, for Clopper–Pearson reaches it at its own values."""
    for name in PROCEDURES:
        for bound in BOUNDS:
            pair = bound == "pair"
            radii = None if name == "paper" else RADII
            n = (N_PAIR_CURVE if name == "curve" else N_PAIR) if pair else N
            for pilot in PILOTS:
                procedure = build(name, NOISE, sum(pilot), n, ALPHA, bound=bound, radii=radii)
                found = ends(procedure, pilot, pair)
                error = pair_error(found) if pair else single_error(found)
                exact = name == "paper" and not pair
                least = ALPHA * (1 - 1e-4) if exact else 0.3 * ALPHA if not pair else 0.0
                said = f"largest error of {name}, {bound} bound, pilot {pilot[0]} of {sum(pilot)}"
                yield yes("all", said, f"{error:.6f} for {ALPHA:g}", least <= error <= ALPHA * (1 + 1e-9))
                follow = all(end.certificate.follows for end in found)
                yield yes("all", f"certificates of {name}, {bound} bound follow from their votes", str(follow), follow)


def check_rules() -> Iterator[Check]:
    """What holds of single certificates: who chooses the class, when nothing is said, how radii are rounded."""
    paper = build("paper", NOISE, 12, 200, ALPHA)
    other = conclude(paper, Evidence().selected((2, 10, 0)).looked((200, 0, 0)))
    yield yes("all", "the selection votes alone choose the class", str(other.label), other.abstained)
    for errors in (30, 99, 120):
        c = conclude(paper, Evidence().selected((12, 0, 0)).looked((200 - errors, errors - 9, 9)))
        q = _upper(errors, 200, ALPHA)
        true = -NOISE.sigma * _quantile(q)
        near = (1 - 1e-5) * true <= c.radius <= true if true > 0 else c.abstained
        yield yes("all", f"radius after {errors} errors of 200", f"{c.radius:.9f} for {max(0, true):.9f}", near)
    down = all((single_radius(NOISE, q) or 0.0) < NOISE.radius_from_error(q) for q in (0.4, 0.1, 1e-3, 1e-5))
    yield yes("all", "radii are rounded down", str(down), down)
    tail = 2 * sum(math.comb(40, i) for i in range(14)) / 2**40
    found = predict((27, 0, 13), 0.05)
    yield yes("all", "p-value of PREDICT", f"{found.p_value:.9f} for {tail:.9f}", math.isclose(found.p_value, tail))
    for alpha, label in ((tail * 1.001, 0), (tail * 0.999, -1)):
        named = predict((27, 0, 13), alpha).label
        yield yes("all", f"PREDICT at alpha = {alpha:.6f}", str(named), named == label)


def check_anytime(votes: int = 400) -> Iterator[Check]:
    """P_q[∃n ≤ N: q̄_n < q] by recursion over the errors of a path; Ville's inequality is not far from it."""
    for alpha, q in ((0.05, 0.5), (0.05, 0.2), (0.2, 0.3), (0.5, 0.4)):
        mass, crossed = np.zeros(votes + 2), 0.0
        mass[0] = 1.0
        n = np.arange(1, votes + 1)
        low, high = np.full(votes, -1), n.copy()  # the bound rises with the errors: the most with which it is below q
        while (open_ := high - low > 1).any():
            middle = np.where(open_, (low + high) // 2, 0)
            below = anytime_bound(middle, n, alpha) < q
            low, high = np.where(open_ & below, middle, low), np.where(open_ & ~below, middle, high)
        for most in low:
            mass[1:] = mass[1:] * (1 - q) + mass[:-1] * q
            mass[0] *= 1 - q
            crossed += float(mass[: most + 1].sum())
            mass[: most + 1] = 0.0
        said = f"error of anytime at q = {q:g} within {votes} votes"
        yield yes("all", said, f"{crossed:.4f} for {alpha:g}", 0.2 * alpha <= crossed <= alpha)


@cache
def _upper(k: int, n: int, alpha: float) -> float:
    """The q with P[Bin(n, q) ≤ k] = α, by bisection on the plain sum: a second Clopper–Pearson."""
    low, high = 0.0, 1.0
    for _ in range(200):
        q = (low + high) / 2
        tail = math.fsum(math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(k + 1))
        low, high = (q, high) if tail > alpha else (low, q)
    return high


def _quantile(q: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(q)
