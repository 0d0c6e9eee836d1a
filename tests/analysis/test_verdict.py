"""The rule by which a run agrees with a printed row, on made-up logs whose intervals follow from a formula."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from smoothcert.analysis import Results
from smoothcert.analysis.verdict import judge
from smoothcert.errors import InputError
from smoothcert.paper import find_row, published
from smoothcert.recipes import find_recipe, reduced_recipe, to_dict
from smoothcert.records.header import header_of
from tests.analysis.made import curve_about

ROW = find_row("7:2")  # mnist/gaussian/0.50: 1.5581 ± 0.0016, five seeds published
UNPUBLISHED = find_row("7:11")  # mnist/smoothadv+consistency/0.50: 1.6957 ± 0.0005
THEIRS = published("mnist/gaussian/0.50")
ABOUT = {"n": 100_000, "n0": 100, "alpha": 0.001, "noise": {"kind": "gaussian", "sigma": 0.5}}


def log(index, contribution, label=None, **about):
    """Their images, all classified correctly, with these radii."""
    label = THEIRS.label[index] if label is None else label
    header = ABOUT | {"recipe": to_dict(find_recipe("mnist/gaussian/0.50")), "selected": len(index)} | about
    return Results(
        "run", index, label, label, np.asarray(contribution, float), np.ones(len(index), bool), header_of(header)
    )


def like_theirs(shift, scatter=0.05, every=100):
    """Their radii plus `shift` on average, ± scatter image by image; radii of three digits, so none is rounded."""
    index = np.arange(0, 10_000, every)
    signs = np.where(np.arange(len(index)) % 2, 1, -1)
    radius = np.array([float(f"{r:.3}") for r in THEIRS.contribution[index].clip(0.1, 1.7) + scatter * signs + shift])
    return log(index, radius)


def test_the_difference_is_taken_image_by_image_and_its_error_has_images_and_trainings():
    ours = like_theirs(0.01)
    gaps = ours.radius - THEIRS.contribution[ours.index]
    found = judge([ours], ROW)
    error = math.sqrt(gaps.var(ddof=1) * (1 / 100 - 1 / 10_000) + 0.0016**2 * (1 + 1 / 5))
    reach = t.ppf(0.975, 99) * error
    assert found.paired and (found.images, found.seeds) == (100, 1)
    assert found.difference == pytest.approx(gaps.mean()) and found.standard_error == pytest.approx(error)
    assert found.interval == pytest.approx((gaps.mean() - reach, gaps.mean() + reach))
    assert found.theirs == pytest.approx(THEIRS.contribution[ours.index].mean())


def test_on_all_images_only_the_trainings_are_uncertain():
    found = judge([like_theirs(0.0, every=1)], ROW)
    assert found.standard_error == pytest.approx(0.0016 * math.sqrt(1.2))


@pytest.mark.parametrize(
    ("middle", "scatter", "word"),
    [
        (0.0, 0.01, "agrees"),
        (0.008, 0.01, "agrees"),  # 0 is outside, but all within 1 %, which is 0.0156
        (0.0, 0.1, "inconclusive"),
        (0.0156, 0.01, "differs"),
        (-0.03, 0.01, "differs"),
        (-0.03, 0.2, "inconclusive"),
    ],
)
def test_within_one_percent_agrees_without_zero_differs_else_inconclusive(middle, scatter, word):
    index = np.arange(0, 10_000, 100)
    easy = index[THEIRS.contribution[index] > 1]
    signs = np.where(np.arange(len(index)) % 2, 1, -1)
    contribution = THEIRS.contribution[index] + np.where(np.isin(index, easy), middle + scatter * signs, 0)
    found = judge([log(index, contribution.clip(0))], ROW)
    assert found.word == word, found


def test_agrees_ends_at_one_percent_of_the_printed_acr_of_radii_rounded_as_printed():
    index, rounded = np.arange(10_000), np.array([float(f"{r:.3}") for r in THEIRS.contribution])
    plain, easy = judge([log(index, rounded)], ROW), np.flatnonzero(rounded > 1)
    reach = plain.interval[1] - plain.difference  # the same for all: on all images only trainings count
    for share, word in ((0.9995, "agrees"), (1.0005, "differs")):
        radius = rounded + np.where(rounded > 1, 0.004, 0)  # what the third digit drops
        radius[easy[: round((share * 0.01 * ROW.acr - reach - plain.difference) / 0.1 * 10_000)]] += 0.1
        assert judge([log(index, radius)], ROW).word == word


def test_an_image_order_of_our_own_changes_nothing():
    ours, shuffled = like_theirs(0.01), np.random.default_rng(0).permutation(100)
    moved = replace(
        ours, index=ours.index[shuffled], radius=ours.radius[shuffled], label=ours.label[shuffled],
        predict=ours.predict[shuffled],
    )  # fmt: skip
    assert judge([moved], ROW).difference == pytest.approx(judge([ours], ROW).difference)
    assert judge([moved], ROW).paired


def test_several_trainings_are_one_mean_and_their_own_scatter_counts_where_it_is_larger():
    pair = [like_theirs(shift) for shift in (-0.05, 0.05)]
    found, alone = judge(pair, ROW), judge([like_theirs(0.0)], ROW)
    own = np.std([log.radius.mean() for log in pair], ddof=1)
    over_images = alone.standard_error**2 - 0.0016**2 * 1.2
    assert found.seeds == 2 and found.difference == pytest.approx(alone.difference, abs=1e-3)
    assert found.standard_error == pytest.approx(math.sqrt(over_images + own**2 / 2 + 0.0016**2 / 5), rel=1e-2)
    close = judge([like_theirs(0.0), like_theirs(0.0)], ROW)
    assert close.standard_error == pytest.approx(math.sqrt(over_images + 0.0016**2 * (1 / 2 + 1 / 5)))


def test_seeds_are_compared_on_the_images_all_have():
    index = np.arange(0, 10_000, 100)
    assert (
        judge([log(index, THEIRS.contribution[index]), log(index[:60], THEIRS.contribution[index[:60]])], ROW).images
        == 60
    )
    with pytest.raises(InputError, match="no image in common"):
        judge([log(index[:50], np.ones(50)), log(index[50:], np.ones(50))], ROW)


def test_where_no_log_was_published_it_is_the_printed_number_and_fewer_images_widen_the_interval():
    radius = np.resize([1.55, 1.85], 10_000)
    for every, spread in ((1, 0.0), (4, radius.std(ddof=1) ** 2 * (1 / 2500 - 1 / 10_000))):
        index = np.arange(0, 10_000, every) + (np.arange(0, 10_000, every) // every % 2 if every > 1 else 0)
        found = judge([log(index, radius[index])], UNPUBLISHED)
        assert not found.paired and found.theirs == 1.6957
        assert found.difference == pytest.approx(radius[index].mean() - 1.6957)
        assert found.standard_error == pytest.approx(math.sqrt(spread + 0.0005**2 * 1.2), rel=1e-3)


def test_other_labels_are_another_test_set():
    index = np.arange(0, 10_000, 100)
    assert not judge([log(index, np.ones(100), label=np.zeros(100, np.int64))], ROW).paired


def test_the_deviation_over_trainings_is_table_7s_or_its_usual_share():
    """Rows of the same recipe share it; a row without, and of one training, has 0.15 % of its ACR, twice."""
    index = np.arange(10_000)
    error = [judge([log(index, np.full(10_000, 1.5))], find_row(name)).standard_error for name in ("7:2", "6:7")]
    assert error[0] == error[1]
    elsewhere = judge([log(index, np.full(10_000, 0.5), label=np.zeros(10_000, np.int64))], find_row("1:1"))
    assert elsewhere.standard_error == pytest.approx(0.00152 * 0.424 * math.sqrt(2), rel=0.01)


def test_fewer_than_a_hundred_images_are_inconclusive():
    index = np.arange(0, 9_900, 100)
    assert judge([log(index, THEIRS.contribution[index])], ROW).word == "inconclusive"
    one = judge([log(index[:1], THEIRS.contribution[index[:1]])], ROW)
    assert one.word == "inconclusive" and one.interval == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("about", "word"),
    [
        ({}, "agrees"),
        ({"n": 1000}, "reduced run"),
        ({"recipe": to_dict(reduced_recipe(find_recipe("mnist/gaussian/0.50"), 0.5))}, "reduced run"),
        ({"recipe": to_dict(replace(find_recipe("mnist/gaussian/0.50"), epochs=89))}, "reduced run"),
        ({"selected": 200}, "unfinished"),
        ({"alpha": 0.01}, "other procedure"),
        ({"bound": "pair"}, "other procedure"),
        ({"procedure": "adaptive", "radii": [0.0, 0.5], "label_aware": False}, "other procedure"),
    ],
)
def test_no_verdict_where_less_or_other_work_was_done(about, word):
    index = np.arange(0, 10_000, 100)
    found = judge([log(index, THEIRS.contribution[index], **about)], ROW)
    assert found.word == word and math.isfinite(found.difference)


def test_a_changed_recipe_and_a_curve_get_none():
    index = np.arange(0, 10_000, 100)
    ours = log(index, THEIRS.contribution[index])
    assert judge([ours], ROW, changed=["lr=1"]).word == "changed recipe"
    found = judge([log(index, np.zeros(100), **curve_about(0.0, 0.5))], ROW)
    assert found.word == "no ACR" and math.isnan(found.difference)
