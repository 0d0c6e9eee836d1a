"""A leaderboard of the published logs: what their papers print, and what becomes of it with fewer votes."""

from pathlib import Path

import numpy as np
import pytest

from smoothcert.analysis import read_results
from smoothcert.analysis.fewer_votes import with_fewer_votes
from smoothcert.analysis.leaderboard import leaderboard
from smoothcert.analysis.metrics import certified_accuracy, contributions
from smoothcert.paper import published

LOGS = Path(__file__).parents[3] / "shared" / "reference-logs"
pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="the published logs (../shared/reference-logs) are not here")


def five(method, sigma):
    return [read_results(path) for path in sorted(LOGS.glob(f"mnist-five-seeds/{method}_sigma{sigma}_seed*.tsv.gz"))]


def test_the_papers_order_and_numbers_come_back():
    """Table 7: ACR 1.657 ± .001 of Consistency, 1.553 ± .003 of Gaussian at σ = .5."""
    (board,) = leaderboard([five("gaussian", "0.50")[0], five("consistency", "0.50")[0]], published=False)
    first, second = board.places
    assert "consistency" in first.name and {place.origin for place in board.places} == {"TSV"}
    assert first.acr == pytest.approx(1.657, abs=0.004) and second.acr == pytest.approx(1.553, abs=0.006)
    assert first.passes is None and second.passes == 90  # the first one's path does not say λ, so no recipe is known
    assert first.images == 10_000
    assert second.difference == pytest.approx(second.acr - first.acr) and second.difference_standard_error < 0.002


def test_packaged_logs_are_not_shown_twice():
    (board,) = leaderboard(five("gaussian", "1.00")[:1])
    beside = [place.name for place in board.places if place.origin == "authors"]
    assert beside and not [name for name in beside if "gaussian" in name]


@pytest.mark.parametrize(("method", "sigma"), [("gaussian", "0.50"), ("consistency", "1.00")])
def test_certified_accuracies_of_mean_radii_are_within_about_a_point(method, sigma):
    """What a note of the board says of the authors' five trainings, of which the package has the mean radii."""
    logs, radii = five(method, sigma), np.arange(0.25, 4, 0.25)
    exact = np.mean([certified_accuracy(log, radii) for log in logs], axis=0)
    packed = published(f"mnist/{method}/{sigma}").contribution
    assert packed == pytest.approx(np.mean([contributions(log) for log in logs], axis=0), abs=2e-4)
    assert np.abs([np.mean(packed >= r) for r in radii] - exact).max() < 0.011
    assert abs(np.mean(packed > 0) - np.mean([certified_accuracy(log, [0.0])[0] for log in logs])) < 0.005


def test_with_fewer_votes_mean_radii_give_an_acr_that_is_a_little_too_high():
    how = 0.5, 100_000, 1_000
    exact = np.mean([with_fewer_votes(contributions(log), *how).mean() for log in five("gaussian", "0.50")])
    assert 0 < with_fewer_votes(published("mnist/gaussian/0.50").contribution, *how).mean() - exact < 0.003
