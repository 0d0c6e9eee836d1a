"""The charts: steps that are level and upright, never above the truth, and no text from a log."""

import re
from itertools import pairwise

import numpy as np
import pytest

from smoothcert.analysis.metrics import certified_accuracy
from smoothcert.report import chart
from tests.analysis.made import random_results, results


@pytest.mark.parametrize("images", [30, 3000])
def test_steps_are_those_of_the_log_and_never_above_it(images):
    made = random_results(images)
    radii, accuracy = chart.steps(made, 2.0)
    assert radii[0] == 0 and radii[-1] == 2.0 and len(radii) <= 402 and accuracy[-1] == 0
    points = np.linspace(0, 2, 2001)
    drawn = accuracy[np.searchsorted(radii, points)]  # level from the point before up to this one
    truth = certified_accuracy(made, points)
    assert (drawn <= truth).all() and (images > 400 or (drawn == truth).all())
    assert np.abs(drawn - truth).max() < 0.02


def test_every_line_of_a_curve_is_level_or_upright():
    svg = chart.curves({3: random_results(2000), 9: random_results(20)}, "ℓ₁")
    paths = re.findall(r'<g class="series (?:line|band) log(\d) dash(\d)" data-log="(\d)"> <path d="M ([^"z]*)', svg)
    assert sorted(found[:3] for found in paths) == [("1", "1", "9")] * 2 + [("2", "0", "3")] * 2
    for *_, path in paths:
        points = [tuple(map(float, point.split())) for point in path.split("L")]
        assert len(points) > 30 and all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(points))
    assert "ℓ₁ radius" in svg and "certified accuracy" in svg


def test_the_step_stands_at_its_radius():
    svg = chart.curves({1: results([1, 1, 1], [1, 1, 1], [0.5, 1.0, 1.0])}, "ℓ₂")
    left, right, high = (float(re.search(rf'data-{key}="([^"]*)"', svg)[1]) for key in ("left", "right", "high"))
    path = re.search(r'series line[^>]*> <path d="M ([^"]*)"', svg)[1]
    points = [tuple(map(float, point.split())) for point in path.split("L")]
    upright = {a[0] for a, b in pairwise(points) if a[0] == b[0] and a[1] != b[1]}
    assert sorted((x - left) / (right - left) * high for x in upright) == pytest.approx([0.5, 1.0], abs=0.002)


@pytest.mark.parametrize("predict", [-1, 0, 1])
def test_a_log_without_any_certificate_is_drawn_too(predict):
    assert "series line" in chart.curves({1: results([1, 1], [predict] * 2, [0.0, 0.0])}, "ℓ₂")


def test_any_numbers_of_a_training_are_drawn():
    for values in ([1.0], [3.0, 3.0], [1e299, -1e299, 0.0]):
        svg = chart.by_epoch({1: (range(1, len(values) + 1), values)}, 'loss <&"')
        assert 'aria-label="loss &lt;&amp;&#34;"' in svg and "series line" in svg


def test_the_same_log_gives_the_same_chart():
    assert len({chart.curves({1: random_results()}, "ℓ₂") for _ in range(2)}) == 1
