"""What the votes of an audit prove, exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from smoothcert.audit.judgement import BEYOND, JUDGED_MOST, LEVEL, chance, level_of_each, rival_p_value, verdict


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_p_value_is_the_one_sided_binomial_test(for_class, for_rival):
    if for_rival <= for_class:
        assert rival_p_value(for_class, for_rival) == 1
        return
    expected = stats.binomtest(for_rival, for_class + for_rival, 0.5, alternative="greater").pvalue
    assert rival_p_value(for_class, for_rival) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("level", [0.05, 0.001, 2e-6])
@pytest.mark.parametrize("p", [0.5, 0.3, 0.02])
def test_a_class_that_is_not_ahead_is_called_so_with_at_most_the_level(level, p):
    """n votes, p_c = p_rival = p, the rest elsewhere: the exact probability of a false declaration."""
    n, error = 400, 0.0
    for both in range(n + 1):
        rival = np.arange(both + 1)
        declared = np.array([rival_p_value(both - k, k) <= level for k in rival])
        error += stats.binom.pmf(both, n, 2 * p) * stats.binom.pmf(rival, both, 0.5)[declared].sum()
    assert error <= level * (1 + 1e-9)


def test_all_judgements_of_an_audit_share_one_level():
    assert 1 + len(BEYOND) == JUDGED_MOST
    assert level_of_each(100) * 100 * JUDGED_MOST == pytest.approx(LEVEL)


@given(st.integers(0, 20), st.integers(20, 10_000), st.sampled_from([0.001, 0.01, 0.1]))
def test_chance_is_the_upper_tail_of_the_binomial(violations, images, alpha):
    assert chance(violations, images, alpha) == pytest.approx(stats.binom.sf(violations - 1, images, alpha), rel=1e-9)


def test_the_verdict_counts_images_that_abstained_and_allows_what_alpha_allows():
    rows = [{"index": i, "violation": i < 2, "found": 1.5 if i else None, "radius": 1.0, "tried": 7} for i in range(98)]
    found = verdict(rows, 100, 0.001)
    assert (found.attacked, found.abstained, found.found, found.violations) == (98, 2, 97, (0, 1))
    assert found.p_value == pytest.approx(0.00464, rel=1e-2) and found.sound
    assert not verdict([row | {"violation": row["index"] < 3} for row in rows], 100, 0.001).sound
    assert verdict([row | {"violation": False} for row in rows], 100, 0.001).p_value == 1
