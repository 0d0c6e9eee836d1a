"""The logs published with the paper must give the numbers printed in it."""

import re
from pathlib import Path

import pytest

from smoothcert.analysis import read_results, summarize

LOGS = Path(__file__).parents[3] / "shared" / "reference-logs"
pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="the published logs (../shared/reference-logs) are not here")


def printed():
    if not LOGS.is_dir():
        return []
    rows = re.findall(r"^\| (\w[\w.]*) \| [^|]* \| ([\d.]+)", (LOGS / "README.md").read_text(), re.M)
    return [(name, float(acr)) for name, acr in rows]


def test_all_published_logs_are_compared():
    assert len(printed()) == len(list(LOGS.glob("*.tsv.gz"))) == 11


@pytest.mark.parametrize(("name", "acr"), printed())
def test_acr_is_the_printed_one_to_the_third_decimal(name, acr):
    s = summarize(read_results(LOGS / f"{name}.tsv.gz"), [0.0])
    assert round(s.acr, 3) == acr
