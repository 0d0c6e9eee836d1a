"""Both looks of `adaptive` together fail with probability at most α: the joint law of their counts, summed plainly.

Seen red: the second look at all of α, one error missed at it, a(q) one too small, the joint sum 1 % too small.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.procedures.adaptive import Adaptive
from smoothcert.procedures.procedure import build, procedure_of
from smoothcert.stats import error_bound
from smoothcert.stats.planning import plan_votes
from smoothcert.stats.two_looks import TwoLooks


def error(looks: TwoLooks, q: float, alpha: float, missed: int = 0) -> float:
    """P_q[q̄₁(E₁) < q or q̄₂(E₂) < q]: `missed` errors go unseen at the second look."""

    def largest(n: int) -> int:  # the bounds rise with the count: max{e: bound < q}
        low, high = -1, n
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if looks(middle, n, alpha) < q else (low, middle)
        return low

    e = np.arange(looks.first + 1)
    both = stats.binom.cdf(largest(looks.cap) + missed - e, looks.cap - looks.first, q)
    return float(stats.binom.pmf(e, looks.first, q) @ np.where(e <= largest(looks.first), 1.0, both))


SIZES = [(20, 60), (150, 195), (1000, 1300), (100, 1300)]


@pytest.mark.parametrize("alpha", [1e-6, 0.001, 0.05, 0.2])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_both_bounds_together_fail_with_at_most_alpha_and_nearly_spend_it(sizes, alpha):
    looks, worst = TwoLooks(*sizes, 0.9), 0.0
    for k in (0, 1, 5, sizes[1] // 10, sizes[1] // 3):
        # just above a value that a bound can take its error is largest
        for n in sizes:
            q = float(looks(min(k, n - 1), n, alpha)) * (1 + 1e-9)
            if q < 1:
                found = error(looks, q, alpha)
                assert found <= alpha
                worst = max(worst, found)
                assert n == sizes[0] or error(looks, q, alpha, missed=1) > alpha
    assert worst > 0.95 * alpha  # the union of .8 and .2 left up to .3 of it


@pytest.mark.parametrize("q", [0.0005, 0.02, 0.3, 0.5])
def test_at_the_size_of_real_logs_it_keeps_alpha_and_beats_the_union(q):
    looks = TwoLooks(100_000, 130_000, 0.9)
    assert error(looks, q, 0.001) <= 0.001
    e = round(130_000 * q * 0.9)
    joint, union = float(looks(e, 130_000, 0.001)), float(error_bound(e, 130_000, 0.0001))
    assert float(error_bound(e, 130_000, 0.001)) <= joint < union


def test_the_bound_rises_with_its_count():
    looks = TwoLooks(50, 80, 0.9)
    assert np.all(np.diff(looks(np.arange(81), 80, 0.01)) > 0) and looks(80, 80, 0.01) == 1.0
    with pytest.raises(InputError, match="look"):
        looks(3, 70, 0.01)


def test_adaptive_gives_the_smaller_of_both_bounds_and_older_headers_keep_their_meaning():
    noise, radii = Gaussian(0.5), (0.0, 0.25, 0.5)
    new, old = build("adaptive", noise, 100, 1000, radii=radii), Adaptive(noise, radii, 100, 1000, exact=False)
    assert new.header()["boundary"] == "exact" and "boundary" not in old.header()
    assert procedure_of(new.header(), noise) == new and procedure_of(old.header(), noise) == old
    for bad in ({"boundary": "union"}, {"procedure": "curve"}):
        with pytest.raises(InputError, match="boundary"):
            procedure_of(new.header() | bad, noise)
    assert plan_votes(0.001, (1.0,)).bound(500) == TwoLooks(500, 130_000, 0.9)
