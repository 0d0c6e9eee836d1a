"""Every procedure, asked as the driver asks it, certifies too large a radius with probability at most α.

Exact: the law of the votes is walked from question to question, nothing is sampled. A half-space whose error rate is
q has exactly the radius σ Φ⁻¹(1 − q). Seen red: one error missed at every look (a test of its own below), thresholds
(and the radius of the pair bound) 0.1 % too large, half the votes of the runner-up missed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smoothcert.noise import Gaussian, Laplace, Uniform
from smoothcert.procedures.certificate import certify, conclude
from smoothcert.procedures.evidence import Evidence, Look
from smoothcert.procedures.procedure import build
from smoothcert.stats.group_sequential import standing

FIFTY = tuple(np.linspace(0, 4, 50).tolist())
SETTINGS = {  # σ, α, n, radii in units of σ
    "plain": (0.5, 0.001, 150, (0.0, 0.5, 1.0, 1.5)),
    "one radius": (2.0, 0.2, 60, (1.0,)),
    "fifty radii": (0.1, 0.05, 60, FIFTY),
    "tiny alpha": (1.0, 1e-6, 200, (0.0, 1.0)),
}


def of(name, setting, label_aware=False, n=None):
    sigma, alpha, size, radii = SETTINGS[setting]
    options = {"radii": tuple(sigma * r for r in radii)} if name != "paper" else {}
    return build(name, Gaussian(sigma), 20, n or size, alpha, label_aware=label_aware, **options)


def same_future(procedure, evidence):
    """What of the past still matters: for `curve` which radii fell, for the others everything."""
    if procedure.name == "curve":
        return tuple(standing(procedure.table, [look.errors for look in evidence.looks]).rejected)
    return evidence.looks


def too_large(procedure, q, selection=(18, 2), missed=0):
    """P[radius > σ Φ⁻¹(1 − q)] over the estimation votes, given the selection's; `missed` errors go unseen."""
    limit = -procedure.noise.scale * stats.norm.ppf(q)
    start = Evidence(given=0) if procedure.label_aware else Evidence()
    if (ask := procedure.next(start)).stage == "selection":
        start = replace(start, selection=selection)
        ask = procedure.next(start)
    paths, wrong = {((), 0): (start, 1.0)}, 0.0
    while paths:
        arrived, sums = paths, defaultdict(float)
        paths, kept = {}, {}
        for (_, e), (evidence, mass) in arrived.items():
            ask = procedure.next(evidence)
            steps = ask.stop - (evidence.looks[-1].n if evidence.looks else 0)
            for more, p in enumerate(stats.binom.pmf(np.arange(steps + 1), steps, q)):
                if mass * p > 1e-14:
                    seen = max(0, e + more - missed)
                    looked = replace(evidence, looks=(*evidence.looks, Look(ask.stop, seen, seen)))
                    key = (same_future(procedure, looked), e + more)
                    kept[key] = looked
                    sums[key] += mass * p
        for key, looked in kept.items():
            if procedure.next(looked) is not None:
                paths[key] = (looked, sums[key])
            elif (radius := procedure.radius(looked)) is not None and (radius > limit or limit < 0):
                wrong += sums[key]
    return wrong


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["paper", "curve"])
def test_at_and_around_every_threshold_too_large_a_radius_has_at_most_probability_alpha(name, setting):
    procedure, alpha = of(name, setting), SETTINGS[setting][1]
    rates = stats.norm.sf(SETTINGS[setting][3])
    rates = rates[rates > 0.1]  # within reach of so few votes
    rates = rates[:: max(1, len(rates) // 2)]
    for q in [*rates * (1 + 1e-8), rates[-1] * 0.999, rates[-1] * 1.1]:  # a little above q_j, r_j is false
        assert too_large(procedure, q) <= alpha
    if name == "curve":  # the table is used up at its thresholds: one error missed is noticed
        assert too_large(procedure, rates[-1] * (1 + 1e-8), missed=1) > alpha


@pytest.mark.parametrize("label_aware", [False, True])
@pytest.mark.parametrize("setting", ["plain", "one radius", "tiny alpha"])
def test_adaptive_keeps_alpha_after_any_pilot_and_one_error_missed_is_noticed(setting, label_aware):
    procedure, alpha = of("adaptive", setting, label_aware, n=60), SETTINGS[setting][1]
    for selection in ((20, 0), (16, 4)):
        for e in (0, 1, 5):
            n = procedure.next(Evidence(selection, given=0 if label_aware else None)).stop
            looked = Evidence(selection, (), (Look(n, e, e),), 0 if label_aware else None)
            radius = procedure.radius(looked)
            if radius is None:
                continue
            q = stats.norm.sf(radius / procedure.noise.scale) * (1 + 1e-7)  # just beyond a radius it can give
            assert too_large(procedure, q, selection) <= alpha
            assert too_large(procedure, q, selection, missed=1) > alpha * 0.8


@pytest.mark.parametrize("setting", ["plain", "one radius", "tiny alpha"])
def test_label_aware_paper_gives_up_on_a_wrong_guess_and_keeps_alpha_after_a_right_one(setting):
    """CERTIFY's bound has no slack but that of whole votes: one error missed is noticed."""
    procedure, alpha = of("paper", setting, label_aware=True), SETTINGS[setting][1]
    wrong = Evidence((2, 18), given=0)
    few = procedure.next(wrong).stop
    assert few < procedure.n and procedure.radius(replace(wrong, looks=(Look(few, 0, 0),))) is None
    attainable = [procedure.radius(Evidence((18, 2), (), (Look(procedure.n, e, e),), 0)) for e in range(12)]
    assert None not in attainable[:2]
    for radius in filter(None, attainable):
        q = stats.norm.sf(radius / procedure.noise.scale) * (1 + 1e-7)  # just beyond a radius it can give
        assert too_large(procedure, q) <= alpha < too_large(procedure, q, missed=1)


def test_label_aware_curve_asks_for_no_guess_and_keeps_alpha():
    procedure = of("curve", "plain", label_aware=True)
    assert procedure.next(Evidence(given=1)).stage == "estimation"
    assert too_large(procedure, 0.5) <= 0.001
    assert 0.0005 < too_large(procedure, stats.norm.sf(1.0) * (1 + 1e-8)) <= 0.001


@pytest.mark.parametrize("alpha", [1e-6, 0.001, 0.2])
@pytest.mark.parametrize("name", ["paper", "adaptive"])
def test_the_pair_bound_of_three_classes_is_too_large_with_probability_at_most_alpha(name, alpha):
    """R ≤ σ/2 (Φ⁻¹(p_A) − Φ⁻¹(p_B)) but for probability α: a sum over all counts (`adaptive`: of its first look)."""
    noise, n = Gaussian(0.7), 40
    options = {} if name == "paper" else {"radii": (0.0, 9.0)}  # no radius within reach: no top-up
    procedure = build(name, noise, 10, n, alpha, bound="pair", **options)
    chosen = Evidence((10, 0, 0))
    n = procedure.next(chosen).stop
    votes = [(n - b - c, b, c) for b in range(n + 1) for c in range(n + 1 - b)]
    looks = [Look(n, b + c, max(b, c)) for _, b, c in votes]
    radii = np.array([-1.0 if (r := procedure.radius(replace(chosen, looks=(k,)))) is None else r for k in looks])
    for p in ((0.6, 0.3, 0.1), (0.5, 0.25, 0.25), (0.4, 0.4, 0.2), (0.9, 0.09, 0.01), (0.3, 0.4, 0.3)):
        true = noise.sigma / 2 * (stats.norm.ppf(p[0]) - stats.norm.ppf(max(p[1:])))
        mass = stats.multinomial.pmf(votes, n, p)
        assert mass[(radii > true) & (radii >= 0)].sum() <= alpha


@pytest.mark.parametrize("noise", [Gaussian(0.1), Gaussian(2.0), Laplace(0.5), Uniform(1.0)], ids=repr)
def test_a_radius_of_the_grid_needs_the_error_rate_of_the_noises_own_theorem(noise):
    radii = tuple(noise.scale * r for r in (0.0, 0.3, 0.9))
    table = build("curve", noise, n=1000, radii=radii).table
    for radius, z in zip(radii, table.z, strict=True):
        q = stats.norm.sf(z)
        assert noise.radius_from_error(q * (1 - 1e-12)) >= radius
        assert radius <= noise.radius_from_error(q) <= radius * (1 + 1e-8) + 1e-9


def test_radii_no_noise_of_this_law_reaches_are_left_out():
    assert build("curve", Uniform(1.0), n=1000, radii=(0.5, 1.0, 1.5)).largest == 0.5


def test_a_thousand_classes_are_one_against_the_rest():
    votes = np.ones(1000, np.int64)
    votes[7] = 4001
    chosen = np.zeros(1000, np.int64)
    chosen[7] = 20
    whole = certify(chosen, votes, Gaussian(0.5), 0.001)
    assert whole.radius == certify([20, 0], [4001, 999], Gaussian(0.5), 0.001).radius
    pair = conclude(build("paper", Gaussian(0.5), 20, 5000, bound="pair"), whole.evidence)
    assert pair.radius > 1.5 * whole.radius and pair.follows


def test_the_pair_radius_is_rounded_down_and_matches_the_textbook():
    procedure = build("paper", Gaussian(0.5), 20, 10_000, bound="pair")
    found = conclude(procedure, Evidence().selected([20, 0, 0]).looked([7000, 2000, 1000])).radius
    first, second = stats.beta.ppf(0.0009, 7000, 3001), stats.beta.isf(0.0001, 2001, 8000)
    textbook = 0.5 / 2 * (stats.norm.ppf(first) - stats.norm.ppf(second))
    assert found == pytest.approx(textbook, rel=1e-5) and found < textbook
