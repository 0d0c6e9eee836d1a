"""The pair bound at many looks keeps α at whichever look one stops; tested at full α it would not.

Seen red: levels that add up to 1.001 α, a runner-up of half its votes, a radius 0.1 % too large.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from scipy import stats

from smoothcert.noise import Gaussian
from smoothcert.procedures.certificate import conclude
from smoothcert.procedures.evidence import Evidence
from smoothcert.procedures.procedure import build
from smoothcert.stats import pair_sequential
from smoothcert.stats.pair import PairBound, pair_bound
from smoothcert.stats.pair_sequential import hopeless, levels, pair_z

LOOKS = np.unique(np.geomspace(20, 2000, 30).astype(int))
LAWS = {  # the class judged first
    "two classes": [0.7, 0.3],
    "one rival among many": [0.6, 0.3, *[0.1 / 8] * 8],
    "rivals alike": [0.5, *[0.5 / 9] * 9],
    "a close race": [0.35, 0.33, 0.32],
    "a thousand classes": [0.4, 0.2, *[0.4 / 998] * 998],
    "almost unanimous": [0.995, 0.004, 0.001],
}


def true_z(law):
    return (stats.norm.ppf(law[0]) - stats.norm.ppf(max(law[1:]))) / 2


def paths(law, looks, count, rng):
    """Errors and votes of the strongest rival at every look, (K, count) each."""
    votes = np.cumsum([rng.multinomial(n, law, count) for n in np.diff(looks, prepend=0)], axis=0)
    return votes.sum(-1) - votes[..., 0], votes[..., 1:].max(-1)


def failures(law, alpha, count, seed=0, looks=LOOKS):
    """Paths on which the tightest bound of all looks claims more than is true."""
    errors, rival = paths(law, looks, count, np.random.default_rng(seed))
    return int((pair_z(pair_so_far(looks, alpha, errors, rival)) > true_z(law)).sum())


def pair_so_far(looks, alpha, errors, runner_up):
    """The tightest of both sides over all looks, each at its level."""
    each = zip(looks, pair_sequential.levels(looks, alpha), errors, runner_up, strict=True)
    return reduce(PairBound.tighten, (pair_bound(e, r, n, level) for n, level, e, r in each))


def most_by_chance(count, alpha):
    """Exceeded with probability 1e-6 by a procedure whose error is exactly α."""
    return int(stats.binom.isf(1e-6, count, alpha))


@pytest.mark.parametrize("alpha", [1e-6, 0.001, 0.2])
@pytest.mark.parametrize("looks", [[7], [1, 2], LOOKS.tolist(), list(range(1, 5000))], ids=len)
def test_levels_are_all_of_alpha_and_not_more(looks, alpha):
    each = levels(looks, alpha)
    assert (each > 0).all() and len(each) == len(looks)
    assert alpha * (1 - 1e-6) < each.sum() <= alpha


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_no_look_claims_too_much(law):
    count = 300 if len(law) > 100 else 4000
    assert failures(law, 0.1, count) <= most_by_chance(count, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("law", [law for law in LAWS.values() if len(law) < 100], ids=str)
def test_no_look_claims_too_much_at_the_level_in_use(law):
    count, found = 10_000, 0
    for seed in range(100):  # 10⁶ paths
        found += failures(law, 0.001, count, seed)
    assert found <= most_by_chance(10**6, 0.001)


def test_full_alpha_at_every_look_would_break_it(monkeypatch):
    """Naive peeking: the reason levels are spent."""
    monkeypatch.setattr(pair_sequential, "levels", lambda looks, alpha: np.full(len(looks), alpha))
    assert failures(LAWS["two classes"], 0.1, 4000) > 2 * most_by_chance(4000, 0.1)


def test_one_look_is_the_pair_bound():
    found = pair_so_far([500], 0.01, [40], [30])
    expected = pair_bound(40, 30, 500, 0.01 * (1 - 1e-9))
    assert (found.error, found.runner_up) == (expected.error, expected.runner_up)
    z = (stats.norm.isf(expected.error) + stats.norm.isf(expected.runner_up)) / 2
    assert pair_z(found) == pytest.approx(z, rel=1e-9)


@pytest.mark.parametrize(("errors", "rival"), [(10, 6), (12, 9), (20, 3)])
def test_the_radius_is_that_of_the_formula_to_a_thousandth(errors, rival):
    """Clopper–Pearson by SciPy's beta law, at the first look's share of α; grid points a twentieth of 1 % apart."""
    sigma, alpha, grid = 0.5, 0.05, (0.0, 0.1)
    for _ in range(2):  # the looks follow from the grid
        procedure = build("curve", Gaussian(sigma), 20, 2000, alpha, radii=grid, bound="pair")
        n, last = (int(procedure.table.looks[k]) for k in (0, -1))
        level = alpha * np.sqrt(n / last)
        p1 = stats.beta.ppf(0.9 * level, n - errors, errors + 1)
        p2 = min(stats.beta.ppf(1 - 0.1 * level, rival + 1, n - rival), 1 - p1)
        radius = sigma / 2 * (stats.norm.ppf(p1) - stats.norm.ppf(p2))
        grid = (0.0, radius * 0.9995, radius * 1.0005)
    votes = [n - errors, rival, *[1] * (errors - rival)]
    evidence = Evidence(selection=(20, *[0] * (len(votes) - 1))).looked(votes)
    assert procedure.radius(evidence) == procedure.radii[1]


def test_a_clear_case_is_given_up_early_and_a_good_one_never():
    cap, level = 10_000, 0.0005
    assert hopeless(cap, cap, level, 0, 0, 0.1)  # no votes are left
    assert not hopeless(100, cap, level, 0, 0, 1.0)
    assert not hopeless(1000, cap, level, 100, 60, 1.0)  # true z about 1.4
    assert hopeless(1000, cap, level, 500, 480, 1.0)
    assert hopeless(100, cap, level, 90, 80, 0.5)


@pytest.mark.parametrize("label_aware", [False, True])
def test_the_procedure_keeps_alpha_and_gains_on_the_single_bound(label_aware):
    """g = class 0 with radius σ z: the grid has a radius just above it, which must not be certified."""
    law, alpha, rng = [0.6, 0.2, 0.2], 0.2, np.random.default_rng(1)
    radius = true_z(law)  # 0.547; the single bound cannot prove more than Φ⁻¹(0.6) = 0.253
    grid, found = (0.0, 0.3, radius * 1.0001, 1.0), {"single": [], "pair": []}
    for bound, radii in found.items():
        procedure = build("curve", Gaussian(1.0), 20, 400, alpha, radii=grid, bound=bound, label_aware=label_aware)
        for _ in range(150):
            evidence = Evidence(given=0) if label_aware else Evidence(selection=(20, 0, 0))
            votes = np.zeros(3, int)
            while (ask := procedure.next(evidence)) is not None:
                votes = votes + rng.multinomial(ask.stop - votes.sum(), law)
                evidence = evidence.looked(votes)
            radii.append(conclude(procedure, evidence).radius)
    assert sum(r > radius for r in found["pair"]) <= most_by_chance(150, alpha)
    assert np.mean(np.array(found["pair"]) >= 0.3) > 0.5 > np.mean(np.array(found["single"]) >= 0.3)
