"""Paired comparisons against SciPy's tests, and what they refuse."""

import numpy as np
import pytest
from scipy import stats

from smoothcert.analysis.compare import compare
from smoothcert.analysis.metrics import contributions, paired_difference
from smoothcert.errors import InputError
from tests.analysis.made import ABOUT, curve_about, random_results, results


def test_the_acr_difference_is_the_paired_t_test():
    one, other = random_results(seed=1), random_results(seed=2)
    found = compare(one, other).acr
    expected = stats.ttest_rel(contributions(one), contributions(other)).confidence_interval(0.95)
    assert found.t_interval == pytest.approx((expected.low, expected.high))
    assert (found.difference, found.standard_error) == pytest.approx(paired_difference(one, other))
    assert found.difference == pytest.approx(found.one - found.other)
    assert found.bootstrap_interval == pytest.approx(found.t_interval, abs=0.03)


def test_the_accuracy_difference_is_mcnemars_test():
    one, other = random_results(seed=1), random_results(seed=2)
    for d in compare(one, other, radii=[0.0, 0.5, 1.0]).accuracy:
        a, b = (contributions(r) * (r.predict != -1) >= d.radius for r in (one, other))
        a, b = a & one.correct, b & other.correct
        assert (d.only_one, d.only_other) == ((a & ~b).sum(), (b & ~a).sum())
        assert d.p_value == pytest.approx(stats.binomtest(d.only_one, d.only_one + d.only_other).pvalue)
        assert d.difference == pytest.approx(d.one - d.other) and d.interval[0] < d.difference < d.interval[1]


def test_the_accuracy_interval_covers_the_truth():
    # 400 pairs of logs in which A is right alone with 0.1 and B alone with 0.04: nominal 95 %, s.e. of the count 4.4.
    rng, hits = np.random.default_rng(3), 0
    for _ in range(400):
        kind = rng.choice(4, 150, p=[0.1, 0.04, 0.5, 0.36])
        label = np.zeros(150, int)
        one = results(label, np.where((kind == 0) | (kind == 2), 0, 1), np.ones(150))
        other = results(label, np.where((kind == 1) | (kind == 2), 0, 1), np.ones(150))
        low, high = compare(one, other, radii=[0.5]).accuracy[0].interval
        hits += low <= 0.06 <= high
    assert 365 <= hits <= 397


def test_a_log_does_not_differ_from_itself():
    found = compare(random_results(), random_results())
    assert found.acr.difference == 0 and found.acr.t_interval == (0, 0)
    assert all(d.p_value == 1 and d.only_one == d.only_other == 0 for d in found.accuracy)


def test_only_shared_images_count_and_the_rest_is_said():
    one = results([1, 1, 1], [1, 1, 1], [1.0, 2.0, 3.0], index=[0, 5, 7])
    other = results([1, 1], [1, 1], [0.5, 0.25], index=[7, 5], about={})
    found = compare(one, other)
    assert found.images == 2 and found.acr.difference == pytest.approx((1.75 + 2.5) / 2)
    assert any("left out" in note for note in found.notes) and any("TSV" in note for note in found.notes)


def test_a_curve_log_has_no_acr_and_knows_only_its_grid():
    curve = random_results(about=curve_about(0.25, 0.5))
    found = compare(curve, random_results(seed=1))
    assert found.acr is None and [d.radius for d in found.accuracy] == [0.25, 0.5]
    with pytest.raises(InputError, match="grid"):
        compare(curve, random_results(seed=1), radii=[0.3])


def test_different_questions_are_not_compared():
    def of(**about):
        return results([0, 1], [0, 1], [1.0, 1.0], about={**ABOUT, **about})

    data = {"name": "mnist", "split": "test", "images": 2, "fingerprint": "a"}
    with pytest.raises(InputError, match="different data"):
        compare(of(data=data), of(data={**data, "fingerprint": "b"}))
    with pytest.raises(InputError, match="norms"):
        compare(of(), of(noise={"kind": "laplace", "b": 0.3}))
    with pytest.raises(InputError, match="labels"):
        compare(of(), results([1, 0], [1, 0], [1.0, 1.0]))
    with pytest.raises(InputError, match="in common"):
        compare(of(), results([0, 1], [0, 1], [1.0, 1.0], index=[8, 9]))
    with pytest.raises(InputError, match="confidence"):
        compare(of(), of(), confidence=1.5)
    with pytest.raises(InputError, match="votes in float32 and in bfloat16"):
        compare(of(), of(precision="bfloat16"))
    with pytest.raises(InputError, match="bounds"):
        compare(of(), of(bound="pair"))
    assert any("different n" in note for note in compare(of(), of(n=500)).notes)
