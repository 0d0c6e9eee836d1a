"""TSV out and in again: nothing changes, and no radius grows."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoothcert.analysis import read_results
from smoothcert.analysis.export import radius_text, to_tsv
from smoothcert.errors import InputError
from tests.analysis.made import random_results, write_log


def test_a_log_survives_the_way_to_tsv_and_back(tmp_path):
    log = read_results(write_log(tmp_path / "a.jsonl", random_results(name="a")))
    (tmp_path / "a.tsv").write_text(to_tsv(log))
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(to_tsv(log).encode()))
    for name in ("a.tsv", "b.tsv.gz"):
        again = read_results(tmp_path / name)
        for column in ("index", "label", "predict", "radius", "correct", "seconds"):
            assert np.array_equal(getattr(again, column), getattr(log, column)), column
    lines = to_tsv(log).splitlines()
    assert lines[0] == "idx\tlabel\tpredict\tradius\tcorrect\ttime" and lines[1].endswith("\t0:00:00.250000")
    assert to_tsv(read_results(tmp_path / "a.tsv")) == to_tsv(log)


@given(radius=st.floats(0, 1e4, allow_subnormal=False), digits=st.integers(1, 17))
def test_a_printed_radius_is_never_larger(radius, digits):
    assert float(radius_text(radius)) == radius
    cut = float(radius_text(radius, digits))
    assert cut <= radius and (radius == 0 or cut >= radius * (1 - 10.0 ** (1 - digits)) * (1 - 1e-15))


def test_the_usual_three_digits_are_cut_not_rounded():
    assert [radius_text(r, 3) for r in (1.9057, 0.95297, 0.00012345, 2.0)] == ["1.90", "0.952", "0.000123", "2.0"]
    with pytest.raises(InputError, match="digits"):
        to_tsv(random_results(), digits=0)
