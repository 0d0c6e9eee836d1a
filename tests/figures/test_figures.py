"""Figures: what is drawn where, and files one can print."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.analysis.made import random_results
from tests.figures.picture import is_whole, pixels, words_on

from smoothcert.errors import InputError
from smoothcert.figures.curves import Panel, by_ablation, by_sigma, looks_of, plot_panels
from smoothcert.figures.gaps import log_probability_gap, plot_gaps, read_gaps
from smoothcert.figures.p_a import EDGES, distribution, lower_bounds, plot_p_a
from smoothcert.paper import find_row


def named(*names):
    return [random_results(seed=i, name=name, about={}) for i, name in enumerate(names)]


def drawn(monkeypatch, kind):
    """The data of all calls of this method of axes, once there are some."""
    from matplotlib.axes import Axes

    calls, method = [], getattr(Axes, kind)
    monkeypatch.setattr(Axes, kind, lambda axes, *data, **style: calls.append(data) or method(axes, *data, **style))
    return calls


def test_a_panel_per_data_set_and_sigma():
    logs = named("mnist_gaussian_sigma0.50", "mnist_gaussian_sigma1.00", "mnist_consistency_lambda5_sigma0.50")
    panels = by_sigma(logs)
    assert [p.title for p in panels] == ["σ = 0.50", "σ = 1.00"]
    assert [label for label, _ in panels[0].curves] == ["gaussian", "consistency, λ = 5"]
    assert by_sigma([*logs, *named("mine")])[-1].title == "unknown data, σ not stated"


def test_ablation_panels_hold_logs_that_differ_in_one_thing():
    panels = by_ablation(
        named(
            "mnist_gaussian_sigma1.00",
            "mnist_consistency_lambda5_sigma1.00",
            "mnist_consistency_lambda5_m4_sigma1.00",
            "mnist_consistency_lambda20_sigma1.00",
        )
    )
    found = {p.title: [label for label, _ in p.curves] for p in panels}
    assert found == {"number of draws m": ["m = 2", "m = 4"], "weight λ": ["λ = 0", "λ = 5", "λ = 20"]}
    with pytest.raises(InputError, match="--loss"):
        by_ablation(named("mnist_gaussian_sigma1.00", "cifar10_gaussian_sigma0.50"))


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_a_figure_is_a_whole_picture_of_the_kind_its_ending_names(tmp_path, ending):
    logs = named("mnist_gaussian_sigma0.50", "mnist_gaussian_sigma1.00", "a_very_long_name_" * 8 + "sigma0.25")
    plot_panels(by_sigma(logs), tmp_path / f"panels.{ending}")
    plot_p_a(logs, tmp_path / f"p_a.{ending}")
    plot_gaps({"A": np.linspace(-2, 5, 50), "B": np.ones(3)}, tmp_path / f"gaps.{ending}", "image 7")
    written = sorted(file.stem for file in tmp_path.iterdir() if is_whole(file))
    assert written == ["gaps", "p_a", "panels"]


def test_what_cannot_be_drawn_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(InputError, match="png"):
        plot_panels(by_sigma(named("mnist_gaussian_sigma0.50")), tmp_path / "x.bmp")
    with pytest.raises(InputError, match="no log"):
        plot_panels([Panel("empty", ())], tmp_path / "x.png")
    assert not list(tmp_path.iterdir())


def test_the_same_log_gives_the_same_picture_and_another_log_another(tmp_path):
    one, other = by_sigma(named("mnist_gaussian_sigma0.50")), by_sigma([random_results(seed=5, about={})])
    for name, panels in (("a", one), ("b", one), ("c", other)):
        plot_panels(panels, tmp_path / f"{name}.png")
    a, b, c = (pixels(tmp_path / f"{name}.png") for name in "abc")
    assert np.array_equal(a, b) and not np.array_equal(a, c)


def test_a_curve_has_the_certified_accuracy_of_every_radius_and_one_standard_error_around_it(monkeypatch, tmp_path):
    steps, bands = drawn(monkeypatch, "step"), drawn(monkeypatch, "fill_between")
    (log,) = named("mnist_gaussian_sigma0.50")
    plot_panels(by_sigma([log]), tmp_path / "a.svg")
    (radii, accuracy, _), (_, low, high) = steps[0], bands[0]
    expected = [sum(log.correct & (log.predict != -1) & (log.radius >= r)) / len(log) for r in radii]
    assert accuracy == pytest.approx(expected, abs=1e-12) and radii[0] == 0 < log.radius.max() <= radii[-1]
    error = np.sqrt(accuracy * (1 - accuracy) / len(log))
    assert low == pytest.approx(accuracy - error) and high == pytest.approx(accuracy + error)
    acr = np.where(log.correct, log.radius, 0).mean()
    assert f"gaussian  (ACR {acr:.3f})" in words_on(tmp_path / "a.svg")


def test_bars_of_gaps_are_shares_of_draws_and_the_title_says_how_many_are_misclassified(monkeypatch, tmp_path):
    bars = drawn(monkeypatch, "stairs")
    gaps = np.array([-1.0, -0.5, 2.0, 3.0, 4.0, 4.5, 5.0, 5.0])
    plot_gaps({"A": gaps}, tmp_path / "a.svg")
    shares, edges = bars[0]
    assert shares.sum() == pytest.approx(1) and shares[edges[1:] <= 0].sum() == pytest.approx(2 / 8)
    assert "A: 25.0 % misclassified, 8 draws" in words_on(tmp_path / "a.svg")


def test_printed_cells_stand_beside_the_curve_of_their_label(monkeypatch, tmp_path):
    lines = drawn(monkeypatch, "plot")
    (log,) = named("mnist_gaussian_sigma0.50")
    row = replace(find_row("6:7"), accuracy=((0.0, 99.0), (0.25, 97.5), (100.0, 0.0)))
    plot_panels([Panel("σ", (("ours", log), ("other", log)), {"ours": row})], tmp_path / "a.png")
    dots = [data for data in lines if data[-1] == "o"]
    assert dots == [((0.0, 0.25), (0.99, 0.975), "o")]  # none beyond the axis


@given(radius=st.floats(0.001, 1.9))
def test_p_a_is_read_back_from_the_radius(radius):
    made = random_results(images=3)
    made.radius[:] = radius
    assert 1 - lower_bounds(made) == pytest.approx(ndtr(radius / 0.5), abs=1e-4)


def test_the_distribution_counts_every_image_once():
    found = distribution(random_results(images=500))
    assert found.correct.sum() + found.wrong.sum() + found.abstained == pytest.approx(1)
    assert len(found.correct) == len(EDGES) - 1
    with pytest.raises(InputError, match="σ"):
        distribution(named("mine")[0])


def test_the_gap_is_that_of_log_probabilities(tmp_path):
    logits = np.random.default_rng(0).normal(size=(50, 4))
    log_f = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    expected = [row[2] - max(np.delete(row, 2)) for row in log_f]
    assert log_probability_gap(logits, 2) == pytest.approx(expected)
    assert (log_probability_gap(logits, 2) < 0).mean() == pytest.approx((logits.argmax(1) != 2).mean())
    np.savez(tmp_path / "g.npz", A=expected)
    assert read_gaps(tmp_path / "g.npz")["A"] == pytest.approx(expected)
    (tmp_path / "bad.npz").write_text("no")
    with pytest.raises(InputError, match=re.escape("bad.npz")):
        read_gaps(tmp_path / "bad.npz")
    with pytest.raises(InputError, match="label"):
        log_probability_gap(logits, 4)


def test_a_label_looks_alike_in_all_panels():
    (log,) = named("any")
    panels = [Panel("", tuple((label, log) for label in labels)) for labels in ("c", "abc", "bda", "ef", "aa")]
    assert looks_of(panels) == [[0], [1, 2, 0], [2, 0, 1], [0, 1], [1, 0]]
