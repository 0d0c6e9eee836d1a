"""Logs ranked at equal n on the same images, against answers that are known."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from smoothcert.analysis import Results
from smoothcert.analysis.leaderboard import leaderboard
from smoothcert.analysis.leaderboard_table import as_dict, blocks, footnotes, markdown, title
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.paper import published
from smoothcert.recipes import Init, find_recipe, to_dict
from smoothcert.recipes.reduced import reduced_recipe
from smoothcert.records.header import header_of
from smoothcert.stats import lower_bound
from tests.analysis.made import curve_about

SIGMA, ALPHA = 0.5, 0.001
DATA = {"name": "mnist5k", "split": "test", "images": 1000, "fingerprint": "f"}


def radius(votes, n, sigma=SIGMA):
    return Gaussian(sigma).radius_from_error(1 - float(lower_bound(votes, n, ALPHA)))


def log(votes, n=1000, name="a", index=None, wrong=(), sigma=SIGMA, **about):
    """Images of class 1 with so many of n votes for it; CERTIFY abstains where its bound is below ½."""
    radii = np.array([radius(k, n, sigma) for k in votes])
    predict = np.where(radii > 0, 1, -1)
    predict[list(wrong)] = 0
    header = {"n0": 100, "n": n, "alpha": ALPHA, "noise": {"kind": "gaussian", "sigma": sigma}, "data": DATA}
    label = np.ones(len(votes), np.int64)
    index = np.arange(len(votes)) if index is None else np.array(index)
    estimation = tuple({"0": n - k, "1": k} for k in votes)
    header = header_of(header | about)
    return Results(name, index, label, predict, radii, predict == label, header, estimation=estimation)


def test_rows_are_sorted_and_say_what_a_table_by_hand_says():
    low, high = log([700, 800, 990, 400], name="low"), log([900, 950, 1000, 600], name="high")
    (board,) = leaderboard([low, high])
    first, second = board.places
    assert (first.name, second.name, board.n, board.common) == ("high", "low", 1000, True)
    each = [np.array([radius(k, 1000) for k in votes]) for votes in ((900, 950, 1000, 600), (700, 800, 990))]
    each[1] = np.append(each[1], 0.0)
    assert first.acr == pytest.approx(each[0].mean()) and second.acr == pytest.approx(each[1].mean())
    gaps = each[1] - each[0]
    assert second.difference == pytest.approx(gaps.mean()) and first.difference is None
    assert second.difference_standard_error == pytest.approx(gaps.std(ddof=1) / 2)
    assert second.standard_error == pytest.approx(each[1].std(ddof=1) / 2)
    assert first.certified_accuracy[0.0] == 1 and second.certified_accuracy[0.0] == 0.75
    assert first.certified_accuracy[0.5] == np.mean(each[0] >= 0.5)
    assert second.p_a == (0.25, 0.5, 0, 0.25, 0) and first.p_a == (0, 0.25, 0.5, 0, 0.25)


def test_a_wrong_image_counts_nothing_however_many_votes_it_has():
    (board,) = leaderboard([log([1000, 1000], wrong=[1])])
    assert board.places[0].acr == pytest.approx(radius(1000, 1000) / 2) and board.places[0].p_a == (0.5, 0, 0, 0, 0.5)


def test_what_is_certified_is_not_counted_as_none():
    """The pair bound certifies 45 % against 25 and 30; `curve` certifies 60 % at radius 0, the first of its grid."""
    about = curve_about(0.0, 0.5, n=10_000) | {"data": DATA}
    grid = replace(log([6_000, 9_990, 9_990], n=10_000, wrong=[2]), header=header_of(about))
    grid = replace(grid, radius=np.array([0.0, 0.5, 0.5]))
    (board,) = leaderboard([grid], published=False)
    assert board.places[0].p_a == (1 / 3, 1 / 3, 0, 0, 1 / 3)
    assert board.places[0].certified_accuracy == {0.0: 2 / 3, 0.5: 1 / 3}
    half = log([4_500, 9_000], n=10_000, bound="pair")
    votes = ({"0": 2_500, "1": 4_500, "2": 3_000}, {"0": 1_000, "1": 9_000})
    labels = np.ones(2, np.int64)
    half = replace(half, predict=labels, correct=labels > 0, radius=np.array([0.07, 0.6]), estimation=votes)
    (board,) = leaderboard([half], published=False)
    assert board.bound == "pair" and board.places[0].p_a == (0, 0.5, 0.5, 0, 0)


def test_more_votes_are_brought_down_to_the_fewest():
    """Unanimous votes stay unanimous, and 10 against of 10,000 are hypergeometric among 1,000."""
    from scipy.stats import hypergeom

    rough, fine = log([1000, 995], n=1000, name="rough"), log([10_000, 9_990], n=10_000, name="fine")
    (board,) = leaderboard([rough, fine], radii=[0.0, 1.1])
    there = {place.name: place for place in board.places}
    j, radii = np.arange(11), np.array([radius(1000 - j, 1000) for j in range(11)])
    chances = hypergeom(10_000, 10, 1000).pmf(j)
    wanted = (radius(1000, 1000) + chances @ radii) / 2
    assert board.n == 1000 and there["fine"].n == 10_000
    assert there["fine"].acr == pytest.approx(wanted, rel=1e-5)
    assert there["fine"].certified_accuracy[1.1] == pytest.approx((1 + chances[radii >= 1.1].sum()) / 2, rel=1e-5)
    assert 0.5 < there["fine"].certified_accuracy[1.1] < 1  # a mean radius of 1.1 or more would say 1, or .5
    assert there["fine"].p_a == (0, 0, 0, 0, 1) and "brought down to 1,000 votes: fine" in board.notes


def test_votes_that_cannot_be_left_out_leave_the_board():
    grid = curve_about(0.0, 0.5, n=10_000) | {"data": DATA}
    curve = replace(log([9_990, 9_000], n=10_000, name="curve"), header=header_of(grid))
    (board,) = leaderboard([log([990, 900], name="few"), curve])
    assert [place.name for place in board.places] == ["few"] and "left out: curve" in board.notes[0]
    (alone,) = leaderboard([curve])
    assert alone.places[0].acr is None and alone.places[0].certified_accuracy == {0.0: 1, 0.5: 1}
    assert blocks(alone)[0][1][0][3:6] == ["–", "–", "–"]


def test_rows_are_of_the_images_that_all_have_unless_told_otherwise():
    one = log([900, 950, 1000], name="one", index=[0, 10, 20])
    other = log([800, 990, 600, 1000], name="other", index=[20, 5, 0, 30])
    (board,) = leaderboard([one, other])
    assert {place.images for place in board.places} == {2} and "the same 2 images" in title(board)
    there = {place.name: place.acr for place in board.places}
    assert there["one"] == pytest.approx((radius(900, 1000) + radius(1000, 1000)) / 2)
    assert there["other"] == pytest.approx((radius(600, 1000) + radius(800, 1000)) / 2)
    assert "2 images of other are not in all logs and were left out" in board.notes
    (own,) = leaderboard([one, other], common=False)
    assert [place.images for place in own.places] == [3, 4] and "own images" in title(own)
    assert own.places[1].difference == pytest.approx(there["other"] - there["one"])
    assert "different images" in own.notes[0]


def test_boards_are_by_data_noise_and_alpha():
    logs = [
        log([990, 900]),
        log([990, 900], sigma=0.25, name="b"),
        log([990, 900], name="c", data=DATA | {"name": "x"}),
    ]
    assert [(b.data, b.noise) for b in leaderboard(logs)] == [
        ("mnist5k", "σ = 0.25"),
        ("mnist5k", "σ = 0.50"),
        ("x", "σ = 0.50"),
    ]


def test_noises_that_look_alike_in_two_digits_are_not_on_one_board():
    many = [log([990, 900], sigma=sigma, name=str(sigma)) for sigma in (10.0, 2.0, 0.254, 0.25, 0.2500001)]
    boards = leaderboard(many, published=False)
    assert [board.noise for board in boards] == [
        "σ = 0.25",
        "σ = 0.2500001",
        "σ = 0.254",
        "σ = 2.00",
        "σ = 10.00",
    ]
    assert all(len(board.places) == 1 for board in boards)
    laplace = log([990, 900], noise={"kind": "laplace", "b": 0.5})
    assert leaderboard([laplace], published=False)[0].noise == "Laplace 0.5"


def test_what_cannot_be_ranked_together_is_refused():
    one = log([990, 900])
    with pytest.raises(InputError, match="share fewer than 2 images: --own-images"):
        leaderboard([one, log([990, 900], index=[7, 8])])
    with pytest.raises(InputError, match="are of different images, both called mnist5k"):
        leaderboard([one, log([990, 900], data=DATA | {"fingerprint": "g"})])
    with pytest.raises(InputError, match="does not say its data set and σ"):
        leaderboard([Results("x", one.index, one.label, one.predict, one.radius, one.correct)])
    published_log = Results("mnist_gaussian_sigma0.25", one.index, one.label, one.predict, one.radius, one.correct)
    with pytest.raises(InputError, match=r"holds a radius of 0.98\d+, more than 100,000 votes at σ = 0.25"):
        leaderboard([published_log])


def mnist_log(name, recipe=None, **about):
    """A log of the images 0, 100, … that the authors certified too."""
    theirs = published("mnist/gaussian/0.50")
    header = {"data": DATA | {"name": "mnist", "images": 10_000}, **about}
    header |= {} if recipe is None else {"recipe": to_dict(recipe)}
    made = log([99_000] * 100, n=100_000, name=name, **header)
    index, label = theirs.index[::100], theirs.label[::100]
    votes = tuple({str(y): 99_000, str((y + 1) % 10): 1_000} for y in label)
    return replace(made, index=index, label=label, predict=label, estimation=votes)


def test_the_authors_logs_stand_beside_on_our_images():
    recipe = find_recipe("mnist/consistency/0.50")
    (board,) = leaderboard([mnist_log("ours", recipe)])
    theirs = {place.name: place for place in board.places if place.origin == "authors"}
    log = published("mnist/consistency/0.50")
    assert set(theirs) == {f"mnist/{m}/0.50, mean of 5" for m in ("gaussian", "stability", "consistency")} | {
        "ablation/m/4/0.50"
    }
    place = theirs["mnist/consistency/0.50, mean of 5"]
    assert place.acr == pytest.approx(log.contribution[::100].mean()) and place.images == 100
    assert place.passes == 180 and theirs["mnist/gaussian/0.50, mean of 5"].passes == 90 and place.minutes is None
    (ours,) = (place for place in board.places if place.origin == "ours")
    assert ours.passes == 180 and ours.p_a == (0, 0, 0, 1, 0) and any("mean radius" in note for note in board.notes)
    assert any("ACR is up to 0.003 too high" in note for note in board.notes)
    (alone,) = leaderboard([mnist_log("ours")], published=False)
    assert len(alone.places) == 1 and alone.places[0].passes is None


def test_reduced_and_unfinished_logs_and_dear_votes_are_marked():
    recipe = reduced_recipe(find_recipe("mnist/gaussian/0.50"), 0.1)
    model = {"name": "ensemble", "variant": None, "sha256": None, "passes_per_vote": 5}
    made = mnist_log("short", recipe, selected=1000, selection={"every": 10, "start": 0, "stop": None}, model=model)
    (board,) = leaderboard([made], published=False)
    (place,) = board.places
    assert place.reduced == "reduced run: scale 0.1: 9 of 90 epochs, unfinished: 100 of 1,000 images"
    assert place.passes == 9 and place.passes_per_vote == 5
    assert footnotes(board) == [f"* short: {place.reduced}"] and blocks(board)[0][1][0][1] == "short *"


def test_an_f_of_parts_costs_what_all_parts_cost():
    parts = [
        {"role": "classifier", "recipe": to_dict(find_recipe(f"mnist/{m}/0.50"))} for m in ("gaussian", "consistency")
    ]
    model = {"name": "a + b", "variant": None, "sha256": None, "passes_per_vote": 2, "parts": parts}
    (board,) = leaderboard([mnist_log("both", model=model)], published=False)
    assert (board.places[0].passes, board.places[0].passes_per_vote) == (90 + 180, 2)
    unknown = model | {"parts": [*parts, {"role": "denoiser"}]}
    assert leaderboard([mnist_log("three", model=unknown)], published=False)[0].places[0].passes is None


def test_weights_that_a_training_started_from_cost_what_they_cost():
    recipe = find_recipe("mnist/consistency/0.50")
    for start, expected in (("mnist/gaussian/0.50", 270), (None, None)):
        made = mnist_log("tuned", replace(recipe, starts_from=start, init=Init("gaussian", "0" * 64)))
        assert leaderboard([made], published=False)[0].places[0].passes == expected


def test_a_log_names_recipes_of_the_list_and_no_file_whose_code_would_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code_of_a_log.py").write_text("raise SystemExit('code ran')")
    said = to_dict(find_recipe("mnist/gaussian/0.50"))
    said["objective"]["terms"] = [{"kind": "code_of_a_log:Term"}]
    (tmp_path / "other.json").write_text(json.dumps(said))
    recipe = replace(find_recipe("mnist/consistency/0.50"), starts_from="other.json")
    (board,) = leaderboard([mnist_log("tuned", recipe)], published=False)
    assert board.places[0].passes is None and "code_of_a_log" not in sys.modules


def test_a_fraction_of_the_images_is_a_fraction_of_the_passes():
    recipe = reduced_recipe(find_recipe("mnist/consistency/0.50"), 0.001)
    (board,) = leaderboard([mnist_log("short", recipe)], published=False)
    assert recipe.epochs == 1 and board.places[0].passes == pytest.approx(0.09 * 2)


def test_markdown_and_json_say_the_same():
    (board,) = leaderboard([log([900, 950], name="a_*|b"), log([700, 800], name="c")], radii=[0.0, 0.5])
    lines = markdown(board).splitlines()
    assert (
        lines[0].startswith("| log | from | ACR | ± s.e. | − first |")
        and lines[0].count("|") == lines[2].count("|") - 1
    )
    assert lines[2].startswith(r"| a\_\*\|b | ours | ") and "CA 0.50" in lines[0] and "p_A ≥ .999" in lines[0]
    said = as_dict(board)
    assert said["places"][0]["certified_accuracy"] == {"0": 1.0, "0.5": 1.0} and said["places"][0]["p_a"][".9–.99"] == 1
