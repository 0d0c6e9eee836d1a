"""A first network: trained before, voting on every training image, its votes the same however often it is stopped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch
from tests.training.test_loop import CPU, RECIPE, TEST, TRAIN

from smoothcert.errors import InputError
from smoothcert.interchange.factory import network_of
from smoothcert.interchange.weights import digest, load_weights, save_weights
from smoothcert.noise.stream import generator_for
from smoothcert.objectives import TERMS, Objective
from smoothcert.objectives.term import log_p_y
from smoothcert.recipes import RECIPES, FirstNetwork, find_recipe, from_dict, override, reduced_recipe, to_dict
from smoothcert.recipes.recipe_of_first import recipe_of_first
from smoothcert.records.run_folder import RunFolder
from smoothcert.smoothed.votes import votes_per_block
from smoothcert.training import count_votes, first_votes, loop
from smoothcert.training.first_votes import read_first
from smoothcert.training.loop import Step, train_on
from smoothcert.training.train import train

NAME = "mnist5k/gaussian/0.50"
FIRST = FirstNetwork(NAME, votes=30, scale=0.05)


@dataclass(frozen=True)
class Wanting:
    """Cross-entropy that asks for votes."""

    wants_votes: ClassVar[bool] = True

    def __call__(self, logits, y):
        return -log_p_y(logits, y).mean(0)


OBJECTIVE = Objective(RECIPE.objective.noise, (Wanting(),))
WITH_FIRST = replace(RECIPE, objective=OBJECTIVE, first=FIRST, epochs=1, fraction=0.5)


@pytest.fixture(autouse=True)
def _listed(monkeypatch):
    monkeypatch.setitem(TERMS, "wanting", Wanting)
    monkeypatch.setattr(count_votes, "_IMAGES", 20)


@pytest.fixture(autouse=True)
def seen(monkeypatch):
    """The rows of votes that reach the objective, with the labels of their images."""
    rows, views = [], Objective.views

    def watched(self, f, x, y, generator=None, within=None, votes=None):
        if votes is not None:
            rows.append((x.clone(), votes.clone()))
        return views(self, f, x, y, generator, within, votes)

    monkeypatch.setattr(Objective, "views", watched)
    return rows


def run(folder, recipe=WITH_FIRST, stop_after=None, first=None):
    given = None
    if first is not None:
        recipe, given = read_first(first, recipe)
    for number, _ in enumerate(train_on(recipe, folder, TRAIN, TEST, CPU, first=given), 1):
        if number == stop_after:
            return None
    return digest(load_weights(RunFolder(folder).model)[0])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TERMS, "wanting", Wanting)
        patch.setattr(count_votes, "_IMAGES", 20)
        return folder, run(folder)


def test_votes_are_those_counted_one_by_one_under_the_first_networks_noise(undisturbed):
    folder = RunFolder(undisturbed[0])
    counts = load_weights(folder.first_votes)[0]["counts"]
    recipe = RunFolder(folder.first).read_recipe()
    f = network_of(recipe.model)(10, recipe.normalization).eval()
    f.load_state_dict(load_weights(RunFolder(folder.first).model)[0])
    used = loop.used_images(WITH_FIRST, 320)
    assert counts.shape == (160, 10) and (counts.sum(1) == 30).all()
    for row in (0, 77, 159):
        index = int(used[row])
        x, _ = TRAIN.batch(torch.tensor([index]))
        noise = torch.empty(votes_per_block(TRAIN.shape), *TRAIN.shape)
        recipe.objective.noise.fill(noise, generator_for(CPU, 0, index, "first-votes", 0))
        with torch.no_grad():
            classes = [int(f(x + delta).argmax()) for delta in noise[:30]]
        assert counts[row].tolist() == [classes.count(label) for label in range(10)]


def test_a_first_network_and_its_votes_are_the_same_where_images_are_shifted(tmp_path, undisturbed):
    run(tmp_path, replace(WITH_FIRST, shift=2))
    one, other = RunFolder(undisturbed[0]), RunFolder(tmp_path)
    assert digest(load_weights(RunFolder(one.first).model)[0]) == digest(load_weights(RunFolder(other.first).model)[0])
    counts, others = (load_weights(folder.first_votes)[0]["counts"] for folder in (one, other))
    assert torch.equal(counts, others)


def test_the_rows_of_a_batch_go_with_its_images(tmp_path, seen, undisturbed):
    run(tmp_path)
    counts = load_weights(RunFolder(tmp_path).first_votes)[0]["counts"]
    used = loop.used_images(WITH_FIRST, 320)
    steps = loop.step_indices(WITH_FIRST, 320, 0)
    assert len(seen) == len(steps)
    for (x, votes), step in zip(seen, steps, strict=True):
        assert votes.dtype == torch.float32 and torch.allclose(votes.sum(1), torch.ones(len(votes)))
        assert torch.equal(x, TRAIN.batch(step)[0])
        rows = torch.searchsorted(used, step)
        assert torch.equal(votes, (counts[rows].double() / 30).float())


@pytest.mark.parametrize("stops", [[1], [4, 3], [8, 1, 2], [14, 2]])
@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["saved each time", "saved at the end"])
def test_an_interrupted_run_ends_with_the_same_weights(tmp_path, monkeypatch, undisturbed, stops, seconds):
    for module, name in ((loop, "_SECONDS_BETWEEN_CHECKPOINTS"), (first_votes, "_SECONDS_BETWEEN_SAVES")):
        monkeypatch.setattr(module, name, seconds)
    monkeypatch.setattr(loop, "_SHARE_OF_TIME_FOR_CHECKPOINTS", 1e9)
    for stop in stops:
        run(tmp_path, stop_after=stop)
    assert run(tmp_path) == undisturbed[1]
    votes = [digest(load_weights(RunFolder(f).first_votes)[0]) for f in (tmp_path, undisturbed[0])]
    assert votes[0] == votes[1]


def test_the_first_network_is_an_ordinary_run_and_the_model_names_it(undisturbed):
    folder = RunFolder(undisturbed[0])
    first = RunFolder(folder.first)
    assert first.read_recipe() == recipe_of_first(WITH_FIRST, FIRST)
    assert first.read_recipe().data == "fake" and first.read_recipe().reduced.startswith("scale 0.05: 1 of 20 epochs")
    about = load_weights(folder.model)[1]
    assert about["first"]["sha256"] == digest(load_weights(first.model)[0])
    assert about["first"]["votes"] == 30 and about["first"]["network"] == to_dict(first.read_recipe())


def test_a_finished_run_needs_neither_votes_nor_first_network(tmp_path, undisturbed):
    events = list(train_on(WITH_FIRST, undisturbed[0], TRAIN, TEST, CPU))
    assert events == []


def test_a_model_lost_at_the_end_is_written_again(tmp_path, undisturbed):
    run(tmp_path)
    RunFolder(tmp_path).model.unlink()
    assert run(tmp_path) == undisturbed[1]
    assert "first" in load_weights(RunFolder(tmp_path).model)[1]


def test_a_finished_run_is_taken_and_named_in_the_recipe(tmp_path, undisturbed):
    given = RunFolder(undisturbed[0]).first
    assert run(tmp_path, first=given) == undisturbed[1]
    assert not RunFolder(tmp_path).first.exists()
    recipe = RunFolder(tmp_path).read_recipe()
    assert recipe.first.sha256 == digest(load_weights(RunFolder(given).model)[0])
    assert run(tmp_path, first=given) == undisturbed[1]
    with pytest.raises(InputError, match="name it with --first"):
        run(tmp_path, recipe)
    with pytest.raises(InputError, match=r"another recipe \(first\.sha256"):
        run(tmp_path)


def test_a_reduced_first_network_is_said(tmp_path, undisturbed):
    given = RunFolder(undisturbed[0]).first
    whole, run_of_first = read_first(given, replace(WITH_FIRST, first=FirstNetwork(NAME, votes=30)))
    events = list(train_on(whole, tmp_path, TRAIN, TEST, CPU, first=run_of_first))
    notes = {event.note for event in events if hasattr(event, "note")}
    assert notes == {"the first network is a reduced run (scale 0.05: 1 of 20 epochs)"}


def test_another_seed_may_be_taken_and_another_recipe_may_not(tmp_path, undisturbed):
    given = RunFolder(undisturbed[0]).first
    recipe, _ = read_first(given, replace(WITH_FIRST, seed=5))
    assert recipe.seed == 5
    for changed, words in (
        ({"first": replace(FIRST, recipe="mnist5k/consistency/0.50")}, r"not a run of mnist5k/consistency/0\.50"),
        ({"data": "mnist5k"}, "data: fake there, mnist5k asked for"),
        ({"held_out": 20}, "held_out"),
        ({"first": replace(FIRST, sha256="0" * 64)}, "another first network"),
        ({"first": None, "objective": RECIPE.objective}, "the recipe has no first network"),
    ):
        with pytest.raises(InputError, match=words):
            read_first(given, replace(WITH_FIRST, **changed))
    with pytest.raises(InputError, match="not finished"):
        run(tmp_path, stop_after=2)
        read_first(tmp_path, WITH_FIRST)


def test_other_votes_in_the_folder_are_refused(tmp_path, undisturbed):
    run(tmp_path, stop_after=14)
    path = RunFolder(tmp_path).first_votes
    tensors, about = load_weights(path)
    save_weights(path, tensors, about | {"votes": 31})
    with pytest.raises(InputError, match="has other votes"):
        run(tmp_path)
    save_weights(path, {"counts": tensors["counts"][:5]}, about)
    with pytest.raises(InputError, match="delete it to count again"):
        run(tmp_path)
    save_weights(path, tensors, about | {"done": 0, "sha256": "0" * 64})
    with pytest.raises(InputError, match="votes of another first network"):
        run(tmp_path)
    path.unlink()
    assert run(tmp_path) == undisturbed[1]


def test_wanting_votes_and_having_a_first_network_belong_together():
    with pytest.raises(InputError, match=r"wants the votes of a first network: name its recipe, first\.recipe"):
        replace(WITH_FIRST, first=None)
    with pytest.raises(InputError, match="no term wants the votes"):
        replace(RECIPE, first=FIRST)


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (FirstNetwork("mnist5k/gausian/0.50"), "recipe.first: unknown recipe .* did you mean mnist5k/gaussian/0.50"),
        (FirstNetwork("own.toml"), "recipe.first: unknown recipe"),
        (FirstNetwork("again"), "has a first network of its own"),
    ],
)
def test_a_first_network_that_cannot_be_is_refused_before_a_folder_is_made(tmp_path, monkeypatch, first, words):
    monkeypatch.setitem(RECIPES, "again", WITH_FIRST)
    with pytest.raises(InputError, match=words):
        run(tmp_path / "run", replace(WITH_FIRST, first=first))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("changed", [{"votes": 0}, {"scale": 0.0}, {"scale": 2.0}, {"sha256": "abc"}])
def test_settings_that_make_no_sense_are_refused(changed):
    with pytest.raises(InputError, match=r"recipe\.first: "):
        replace(FIRST, **changed)


def test_it_is_written_read_set_and_reduced():
    recipe = replace(WITH_FIRST, first=FirstNetwork(NAME))
    assert from_dict(to_dict(recipe)) == recipe and to_dict(recipe)["first"]["votes"] == 10_000
    assert override(recipe, ["first.votes=500"]).first.votes == 500
    reduced = reduced_recipe(recipe, 0.1)
    assert reduced.first == FirstNetwork(NAME, votes=1000, scale=0.1)
    assert recipe_of_first(reduced, reduced.first).epochs == find_recipe(NAME).epochs // 10
    assert reduced_recipe(recipe, 0.001).first.votes == 100


def test_the_verb_trains_both(tmp_path, undisturbed):
    work = train(WITH_FIRST, tmp_path / "run", device="cpu")
    kinds = [type(event).__name__ for event in work]
    assert kinds.count("Epoch") == 2 and kinds.count("Votes") == 8
    taken = train(WITH_FIRST, tmp_path / "taken", first=tmp_path / "run" / "first", device="cpu")
    assert sum(isinstance(event, Step) for event in taken) == len(loop.step_indices(WITH_FIRST, 320, 0))
    assert taken.result.recipe.first.sha256
    files = [RunFolder(tmp_path / name).model for name in ("run", "taken")]
    assert digest(load_weights(files[0])[0]) == digest(load_weights(files[1])[0]) == undisturbed[1]
