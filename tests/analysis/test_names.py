"""Logs shown together: no name twice."""

from dataclasses import replace
from pathlib import Path

from smoothcert.analysis.names import legend_names, told_apart
from smoothcert.figures.curves import by_ablation, by_sigma
from tests.analysis.made import random_results
from tests.analysis.test_published import RELEASE

LOG = random_results(images=3, about={})


def at(*paths, name="x"):
    return [replace(LOG, name=name, path=Path(path)) for path in paths]


def names(logs):
    return [r.name for r in told_apart(logs)]


def test_as_few_folders_as_tell_logs_apart():
    assert names(at("/r/a/log", "/r/b/log")) == ["a/x", "b/x"]
    assert names(at("/r/p/a/log", "/r/q/a/log", "/r/q/b/log")) == ["p/a/x", "q/a/x", "b/x"]
    assert names([*at("/r/a/log"), *at("/r/b/log", name="y")]) == ["x", "y"]


def test_a_number_where_no_folder_does():
    assert names([LOG, LOG, LOG]) == ["x", "x (2)", "x (3)"]
    assert names(at("/a/one", "/a/two")) == ["x", "x (2)"]


def test_a_label_stands_as_it_is():
    labelled = [replace(r, labelled=True) for r in at("/a/l", "/b/l")]
    assert names(labelled) == ["x", "x"]
    assert names([*labelled, *at("/c/l")]) == ["x", "x", "c/x"]


def test_every_panel_of_the_release_names_each_curve_once():
    logs = [replace(LOG, name=path.name, path=Path("/") / path) for path in RELEASE]
    panels = by_sigma(logs)
    assert len(panels) == 8  # three σ of CIFAR-10 and MNIST, two of ImageNet
    assert sum(len(panel.curves) for panel in panels) == len(RELEASE)
    for panel in [*panels, *by_ablation(logs)]:
        labels = [label for label, _ in panel.curves]
        assert len(set(labels)) == len(labels), panel.title
        assert not any("noise_" in label for label in labels if panel in panels)


def test_a_legend_says_what_differs():
    def legend(*paths):
        return legend_names(at(*(f"/cifar10/{path}/noise_0.50" for path in paths)))

    assert legend("cohen", "stab/lbd_2") == ["gaussian", "stability, λ = 2"]
    assert legend("cohen", "cohen/cifar_resnet20") == ["resnet110, gaussian", "resnet20, gaussian"]
    assert legend("consistency/lbd_5/eta_0.1", "consistency/lbd_5/eta_0.5", "macer") == [
        "consistency, λ = 5, η = 0.1",
        "consistency, λ = 5, η = 0.5",
        "macer",
    ]
    assert legend_names(at("/mnist/cohen/noise_1.00_3", "/mnist/cohen/noise_1.00_7")) == [
        "gaussian, #3",
        "gaussian, #7",
    ]
    assert legend_names(at("/what", "/ever")) == ["x", "x"]  # `told_apart` comes first
