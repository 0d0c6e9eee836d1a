"""A log in Python: its numbers, their intervals, a table and a plot."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smoothcert import InputError, read_log
from smoothcert.analysis.metrics import certified_accuracy, contributions
from tests.analysis.made import curve_about, random_results, results, write_log


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return read_log(str(write_log(tmp_path_factory.mktemp("log") / "certify.jsonl", random_results())))


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_the_acr_and_its_t_interval(log):
    each = contributions(log)
    assert log.acr == each.mean()
    expected = stats.ttest_1samp(each, 0).confidence_interval(0.95)
    assert log.acr_interval == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert results([1], [1], [0.5]).acr_interval is None


def test_certified_accuracy_and_its_interval(log):
    for r in (0.0, 0.5, 1.2, 50.0):
        hits = int(((log.label == log.predict) & (log.radius >= r)).sum())
        assert log.certified_accuracy(r) == hits / len(log)
        expected = stats.binomtest(hits, len(log)).proportion_ci(0.95, "wilson")
        assert log.certified_accuracy_interval(r) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_a_curve_log_has_no_acr_and_its_own_radii():
    log = results([1, 1], [1, 1], [0.5, 1.0], about=curve_about(0.5, 1.0))
    assert log.acr is None and log.acr_interval is None
    assert log.certified_accuracy(1.0) == 0.5
    with pytest.raises(InputError, match=r"0\.7 is not one"):
        log.certified_accuracy(0.7)


def test_a_frame_has_a_row_per_image(log, monkeypatch):
    pytest.importorskip("pandas")
    frame = log.to_frame()
    assert list(frame) == ["index", "label", "predict", "radius", "correct", "seconds"]
    assert (frame.radius.to_numpy() == log.radius).all() and len(frame) == len(log)
    assert "seconds" not in replace(log, seconds=None).to_frame()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        log.to_frame()


def test_a_plot_draws_the_steps_on_given_axes(log, axes):
    assert log.plot(axes) is axes
    (line,) = axes.get_lines()
    radii, accuracy = line.get_data()
    assert line.get_drawstyle() == "steps-post"
    assert (accuracy == certified_accuracy(log, radii)).all() and np.ptp(radii) >= log.radius.max()


def test_a_second_log_keeps_the_first_in_sight(log, axes):
    small = results([1, 1], [1, 1], [0.1, 0.2], name="small")
    small.plot(log.plot(axes))
    assert axes.get_xlim()[1] >= log.radius.max()
    assert len({line.get_color() for line in axes.get_lines()}) == 2
    assert len(axes.get_legend().get_texts()) == 2
    other = results([1, 1], [1, 1], [0.1, 0.2], about={"noise": {"kind": "laplace", "b": 0.5}})
    with pytest.raises(InputError, match="another norm"):
        other.plot(axes)
    assert len(axes.get_lines()) == 2
