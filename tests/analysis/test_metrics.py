"""ACR and certified accuracy against a plain second implementation; tables and plots from them."""

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from smoothcert.analysis import Results, read_results, summarize
from smoothcert.analysis.metrics import certified_accuracy, default_radii, paired_difference, wilson
from smoothcert.analysis.tables import FORMATS, cells
from smoothcert.errors import InputError
from smoothcert.figures.curves import plot_curves
from smoothcert.records.header import header_of
from tests.figures.picture import is_whole

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-1, 3), st.floats(0, 4).map(lambda r: round(r, 3))),
    min_size=1,
    max_size=40,
)


def results(rows, name="x", about=None):
    label, predict, radius = (np.array(column) for column in zip(*rows, strict=True))
    radius = np.where(predict == -1, 0.0, radius)
    return Results(name, np.arange(len(rows)), label, predict, radius, label == predict, header_of(about or {}))


@given(rows=ROWS)
def test_metrics_agree_with_a_plain_loop(rows):
    radii = [0.0, 0.25, 1.0, 2.5]
    s = summarize(results(rows), radii)
    total, counts = 0.0, dict.fromkeys(radii, 0)
    for label, predict, radius in rows:
        if predict == label:
            total += radius
            for r in radii:
                counts[r] += radius >= r
    assert s.acr == pytest.approx(total / len(rows), abs=1e-12)
    assert s.certified_accuracy == pytest.approx({r: c / len(rows) for r, c in counts.items()})
    assert s.abstained == sum(predict == -1 for _, predict, _ in rows)


def test_acr_counts_wrong_images_and_abstentions_as_zero():
    s = summarize(results([(1, 1, 1.0), (1, 2, 3.0), (1, -1, 0.0)]), [0.0])
    assert s.acr == pytest.approx(1 / 3)
    assert s.acr_standard_error == pytest.approx(np.std([1, 0, 0], ddof=1) / 3**0.5)
    assert s.certified_accuracy[0.0] == pytest.approx(1 / 3)


def test_an_image_exactly_at_the_radius_counts():
    assert certified_accuracy(results([(1, 1, 0.25), (0, 0, 0.2499)]), [0.25]) == pytest.approx([0.5])


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (970, 1000), (50, 50)])
def test_wilsons_interval_is_scipys(k, n):
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert np.array(wilson(np.array(k / n), n)) == pytest.approx([expected.low, expected.high], abs=1e-9)


def test_paired_difference_uses_the_images_both_have():
    one, other = results([(1, 1, 1.0), (1, 1, 2.0), (1, 1, 3.0)]), results([(1, 1, 0.5), (1, 2, 9.0)])
    mean, error = paired_difference(one, other)
    assert mean == pytest.approx((0.5 + 2.0) / 2)
    assert error == pytest.approx(np.std([0.5, 2.0], ddof=1) / 2**0.5)
    with pytest.raises(InputError, match="labels"):
        paired_difference(one, results([(0, 1, 0.5), (1, 2, 9.0)]))


def test_tables_show_the_same_numbers_in_every_format():
    about = {"n0": 100, "n": 1000, "alpha": 0.001, "noise": {"kind": "gaussian", "sigma": 0.5}, "selected": 3}
    listed = [results([(1, 1, 0.5), (2, 2, 1.0), (3, -1, 0)], "a_b", about), results([(1, 1, 0.3)], "c")]
    summaries = [summarize(r, default_radii(listed)) for r in listed]
    found = json.loads(FORMATS["json"](summaries))
    assert found[0]["acr"] == 0.5 and found[0]["images"] == 3 and found[0]["abstained"] == 1
    assert found[0]["certified_accuracy"]["0.5"] == pytest.approx(2 / 3)
    assert found[0]["largest_radius"] == pytest.approx(1.2316, abs=1e-3)
    assert found[1]["acr_standard_error"] is None and found[1]["n"] is None
    table = list(csv.DictReader(io.StringIO(FORMATS["csv"](summaries))))
    assert float(table[0]["0.50"]) == pytest.approx(2 / 3) and table[1]["n"] == ""
    assert "| a_b | 0.500 |" in FORMATS["markdown"](summaries)
    assert r"a\_b & 0.500" in FORMATS["latex"](summaries) and r"33.3\%" in FORMATS["latex"](summaries)
    header, rows = cells(summaries)
    assert all(len(row) == len(header) for row in rows) and rows[1][5] == "not stated"


def test_a_column_never_claims_a_larger_radius_than_it_was_computed_at():
    s = [summarize(results([(1, 1, 0.2551)]), [0.0, 0.255])]
    assert cells(s)[0][-2:] == ["0.00", "0.255"]
    assert list(json.loads(FORMATS["json"](s))[0]["certified_accuracy"]) == ["0", "0.255"]
    assert FORMATS["csv"](s).splitlines()[0].endswith("0.00,0.255")


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_a_plot_makes_its_folder_and_is_a_whole_picture(tmp_path, ending):
    path = tmp_path / "deep" / f"plot.{ending}"
    plot_curves([results([(1, 1, 0.5), (2, 2, 1.0)]), results([(1, 1, 0.0)])], path)
    assert is_whole(path)
    with pytest.raises(InputError, match="png"):
        plot_curves([results([(1, 1, 0.5)])], tmp_path / "plot.jpeg")


TSV = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t7\t7\t2.49\t1\t0:00:01\n5\t2\t-1\t0.0\t0\t0:00:01\n"


def test_tsv_logs_are_read_gzipped_or_not(tmp_path):
    import gzip

    (tmp_path / "a.tsv").write_text(TSV)
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(TSV.encode()))
    for file, name in (("a.tsv", "a"), ("b.tsv.gz", "b")):
        r = read_results(tmp_path / file)
        assert (r.name, list(r.index), list(r.radius)) == (name, [0, 5], [2.49, 0.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a certification log"),
        ("hello\n", "not a certification log"),
        (TSV + "7\t1\t1\tbig\t1\t0\n", "line 4"),
        (TSV + "7\t1\n", "line 4"),
        (TSV + "5\t2\t2\t0.1\t1\t0\n", "line 4 repeats image 5"),
        (TSV + "7\t1\t1\t-1\t1\t0\n", "negative"),
        (TSV + "7\t1\t1\tnan\t1\t0\n", "negative or not a number"),
        (TSV + "7\t1\t1\t1\t5\t0\n", "correct"),
        (TSV.splitlines()[0] + "\n", "no certified image"),
        ("{}\n", "not a certification log"),
    ],
)
def test_broken_logs_are_refused(tmp_path, text, message):
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_results(tmp_path / "x.tsv")


def test_a_tsv_log_that_is_being_written_is_read_up_to_its_last_whole_row(tmp_path):
    (tmp_path / "x.tsv").write_text(TSV + "7\t1\t1\t0.")
    assert len(read_results(tmp_path / "x.tsv")) == 2


def test_with_a_confidence_every_format_gives_the_lower_bounds_rounded_down():
    about = {"n0": 100, "n": 1000, "alpha": 0.001, "noise": {"kind": "gaussian", "sigma": 0.5}}
    listed = [results([(1, 1, 0.5)] * 29 + [(1, 2, 0.5)] * 4, "a", about), results([(1, 1, 0.3)] * 3, "c")]
    summaries = [summarize(r, [0.0, 0.75], 0.995) for r in listed]
    assured = summaries[0].assured
    (ours, theirs) = json.loads(FORMATS["json"](summaries))
    assert ours["assured"]["of_these_images"] == {"0": assured.of_these_images[0.0], "0.75": 0.0}
    assert theirs["assured"]["of_the_population"] == {"0": None, "0.75": None}  # its α is not known
    _, rows = cells(summaries)
    assert [row[0] for row in rows] == [
        "a",
        "  these images ≥, 99.5 %",
        "  population ≥, 99.5 %",
        "c",
        *[r[0] for r in rows[1:3]],
    ]
    assert rows[1][8:] == ["84.8", "0.0"] and rows[5][8:] == ["–", "–"]  # 28 of 33: 84.85 %
    assert len({len(row) for row in rows}) == 1
    first, second = csv.DictReader(io.StringIO(FORMATS["csv"](summaries)))
    assert (
        float(first["population >= at 0.00"]) == assured.of_the_population[0.0]
        and second["population >= at 0.00"] == ""
    )
    assert "assured" not in json.loads(FORMATS["json"]([summarize(listed[0], [0.0])]))[0]
