"""How often the verdict errs, with the authors' own five trainings of nine rows as ours."""

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from smoothcert.analysis import read_results, verdict
from smoothcert.analysis.compare import subset
from smoothcert.analysis.metrics import contributions
from smoothcert.analysis.verdict import judge
from smoothcert.paper import Published, published, rows

LOGS = Path(__file__).parents[3] / "shared" / "reference-logs" / "mnist-five-seeds"
pytestmark = pytest.mark.skipif(
    not LOGS.is_dir(), reason="the authors' five seeds (../shared/reference-logs/mnist-five-seeds) are not here"
)
ROWS = {(row.recipes[0].split("/")[1], row.sigma): row for row in rows(7)}
METHODS, SIGMAS, SEEDS = ("gaussian", "stability", "consistency"), (0.25, 0.5, 1.0), range(5)


@cache
def training(method, sigma, seed):
    return read_results(LOGS / f"{method}_sigma{sigma:.2f}_seed{seed + 1}.tsv.gz")


def words(ours, row, every):
    """The verdicts on every so-manieth image, from each start."""
    return Counter(judge([subset(ours, np.arange(o, 10_000, every))], row).word for o in range(every))


def without(method, sigma, seed):
    """The authors' log as it would be without that training."""
    others = [contributions(training(method, sigma, s)) for s in SEEDS if s != seed]
    log = published(ROWS[method, sigma].recipes[0])
    return Published(4, log.index, log.label, np.mean(others, axis=0))


def of_the_same_method(monkeypatch, every):
    found = Counter()
    for method in METHODS:
        for sigma in SIGMAS:
            for seed in SEEDS:
                log = without(method, sigma, seed)
                monkeypatch.setattr(verdict, "published", lambda name, log=log: log)
                found += words(training(method, sigma, seed), ROWS[method, sigma], every)
    return {word: count / found.total() for word, count in found.items()}


def of_another_method(every, apart):
    """By (method, other, σ) where their rows differ truly by more than 1 % (apart), or by less."""
    found = {}
    for sigma in SIGMAS:
        for method in METHODS:
            for other in METHODS:
                gap = abs(ROWS[method, sigma].acr / ROWS[other, sigma].acr - 1)
                if method != other and (gap > 0.01) == apart:
                    each = [words(training(method, sigma, seed), ROWS[other, sigma], every) for seed in SEEDS]
                    found[method, other, sigma] = sum(each, Counter())
    return found


def agreeing(found):
    counts = sum(found.values(), Counter())
    return counts["agrees"] / counts.total()


def test_another_training_of_the_same_method_seldom_differs(monkeypatch):
    """4,500 verdicts on 100 images each, 450 on 1,000 and 45 on all; an interval of 95 % may miss 5 %."""
    few, more, all_ = (of_the_same_method(monkeypatch, every) for every in (100, 10, 1))
    assert few["differs"] < 0.05 and 0.5 < few["agrees"] < 0.6
    assert more["differs"] < 0.01 and more["agrees"] > 0.99
    assert all_ == {"agrees": 1.0}


def test_another_methods_row_never_agrees_where_it_is_more_than_one_percent_off():
    few, more, all_ = (of_another_method(every, apart=True) for every in (100, 10, 1))
    assert len(few) == 12
    assert agreeing(few) < 0.005 and all(agreeing({0: counts}) <= 0.01 for counts in few.values())
    assert agreeing(more) == agreeing(all_) == 0
    assert all(counts == {"differs": 5} for counts in all_.values())


def test_rows_less_than_one_percent_apart_are_the_only_ones_that_may_be_taken_for_each_other():
    found = of_another_method(1, apart=False)
    assert {frozenset(pair[:2]) for pair in found} == {frozenset({"gaussian", "stability"})} and len(found) == 6
    agree = {pair for pair, counts in found.items() if counts["agrees"]}
    assert agree == {("gaussian", "stability", 0.25), ("stability", "gaussian", 0.25), ("stability", "gaussian", 0.5)}


def test_with_fewer_images_than_it_asks_for_it_would_err(monkeypatch):
    """Of 25 images at σ = 0.25 all are easy too often: the interval is too short, so there must be no verdict."""
    assert set(words(training("gaussian", 0.25, 0), ROWS["consistency", 0.25], 400)) == {"inconclusive"}
    monkeypatch.setattr(verdict, "FEWEST", 2)
    assert words(training("gaussian", 0.25, 0), ROWS["consistency", 0.25], 400)["agrees"] > 0.05 * 400


def test_the_published_mean_is_that_of_the_five():
    for (method, sigma), row in ROWS.items():
        if method in METHODS:
            mean = np.mean([contributions(training(method, sigma, seed)) for seed in SEEDS], axis=0)
            assert np.allclose(published(row.recipes[0]).contribution, mean, atol=2e-4)


def test_the_rounding_of_our_radii_is_theirs():
    ours = training("gaussian", 0.5, 0)
    finer = replace(ours, radius=ours.radius * (1 + 1e-5))
    assert judge([finer], ROWS["gaussian", 0.5]) == judge([ours], ROWS["gaussian", 0.5])
