"""`certify --label-aware` of CERTIFY itself: its log says what one without it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.certification.test_procedures import NOISE, TEST, f

from smoothcert.analysis import Results, read_results, summarize
from smoothcert.analysis.metrics import paired_difference
from smoothcert.certification.run import certify_images
from smoothcert.certification.verify import verify
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.procedures.procedure import build
from smoothcert.records.header import header_of
from smoothcert.records.log import read_certification
from smoothcert.records.selection import Selection
from smoothcert.smoothed.classifier import SmoothedClassifier

RADII = (0.0, 0.25, 0.5, 1.0, 2.0)


def g_of_three_wrong() -> SmoothedClassifier:
    """Classes 0 to 2 are taken for each other, so that a third of the images is wrong."""
    return SmoothedClassifier(lambda x: f(x)[:, [1, 2, 0, *range(3, 10)]], NOISE, 10)


def certify(log: Path, bound: str, aware: bool) -> Results:
    procedure = build("paper", NOISE, 20, 300, bound=bound, label_aware=aware)
    for _ in certify_images(g_of_three_wrong(), TEST, log, procedure, Selection(), "test", {"model": {"name": "f"}}):
        pass
    return read_results(log)


@pytest.mark.parametrize("bound", ["single", "pair"])
def test_average_radius_and_certified_accuracy_are_certifys_own(tmp_path: Path, bound: str) -> None:
    plain, aware = (certify(tmp_path / f"{aware}.jsonl", bound, aware) for aware in (False, True))
    one, other = (summarize(results, RADII) for results in (plain, aware))
    assert (one.acr, one.certified_accuracy) == (other.acr, other.certified_accuracy) and one.acr
    assert paired_difference(plain, aware) == (0.0, 0.0)
    votes = [sum(sum(row.values()) for row in results.estimation or ()) for results in (plain, aware)]
    assert votes[1] < 0.8 * votes[0] and other.abstained > one.abstained
    found = verify(tmp_path / "True.jsonl")
    assert found.rows == len(load("fake", "test")) and not found.problems


def test_without_labels_there_is_nothing_to_be_aware_of(tmp_path: Path) -> None:
    certify(tmp_path / "log.jsonl", "single", True)
    header = read_certification(tmp_path / "log.jsonl").header
    assert header.data is not None and header_of(header.to_json()) == header
    with pytest.raises(InputError, match="needs the label of every image"):
        replace(header, data=replace(header.data, labelled=False))
