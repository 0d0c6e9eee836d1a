"""Training: learns, is reproducible, and goes on after any interruption with the very same weights."""

import json
import math
from dataclasses import replace

import pytest
import torch

from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.interchange.weights import digest, load_weights, save_weights
from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective
from smoothcert.recipes import Recipe, StepDecay
from smoothcert.recipes.schedule import LinearDecay
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log
from smoothcert.training import loop
from smoothcert.training.build_network import build_network
from smoothcert.training.checkpoint import previous
from smoothcert.training.loop import Epoch, step_indices, train_on
from smoothcert.training.optimizer import optimizer_of

CPU = torch.device("cpu")
TRAIN, TEST = load("fake", "train"), load("fake", "test")
OBJECTIVE = Objective(Gaussian(0.5), (CrossEntropy(), Consistency(1.0)), m=2)
RECIPE = Recipe("fake", "lenet", OBJECTIVE, epochs=2, lr=0.01, schedule=StepDecay(1), batch=64)


def run(folder, recipe=RECIPE, stop_after=None):
    """Train; stopped by abandoning the generator, after which all that counts is on disk, as after kill -9."""
    for number, _ in enumerate(train_on(recipe, folder, TRAIN, TEST, CPU), 1):
        if number == stop_after:
            return None
    return digest(load_weights(RunFolder(folder).model)[0])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return run(tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["checkpoint every step", "checkpoint every epoch"])
@pytest.mark.parametrize("stops", [[1], [3, 1, 1], [5, 6], [6, 1, 4, 2], [11]])
def test_an_interrupted_run_ends_with_the_same_weights(tmp_path, monkeypatch, undisturbed, stops, seconds):
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", seconds)
    monkeypatch.setattr(loop, "_SHARE_OF_TIME_FOR_CHECKPOINTS", 1e9)
    for stop in stops:
        run(tmp_path, stop_after=stop)
    assert run(tmp_path) == undisturbed
    rows = read_training_log(RunFolder(tmp_path).training_log)
    assert [row["epoch"] for row in rows] == [1, 2]


def test_adam_is_torchs_own_and_takes_its_betas_from_the_recipe():
    f = torch.nn.Linear(2, 2)
    recipe = replace(RECIPE, momentum=0.8, nesterov=False, second_moment=0.95, weight_decay=0.02)
    optimizer = optimizer_of(recipe, f.parameters())
    assert isinstance(optimizer, torch.optim.AdamW)
    assert {key: optimizer.defaults[key] for key in ("lr", "betas", "weight_decay")} == {
        "lr": RECIPE.lr, "betas": (0.8, 0.95), "weight_decay": 0.02,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"second_moment": 1.0, "nesterov": False}, "between 0 and 1"),
        ({"second_moment": "0.9", "nesterov": False}, "between 0 and 1"),
        ({"second_moment": 0.99}, "nesterov = false"),
        ({"second_moment": 0.99, "nesterov": False, "momentum": 1.0}, "momentum below 1"),
    ],
)
def test_adam_that_cannot_be_is_refused(changed, words):
    with pytest.raises(InputError, match=words):
        replace(RECIPE, **changed)


def test_a_checkpoint_with_tensors_of_no_known_kind_is_refused(tmp_path):
    run(tmp_path, stop_after=6)
    path = RunFolder(tmp_path).checkpoint
    tensors, about = load_weights(path)
    renamed = {name.replace("optimizer.momentum_buffer.", "momentum."): t for name, t in tensors.items()}
    assert renamed.keys() != tensors.keys()
    save_weights(path, renamed, about)
    with pytest.raises(InputError, match="delete it to start again"):
        run(tmp_path)


def test_a_finished_run_is_left_alone(tmp_path, undisturbed):
    assert run(tmp_path) == undisturbed
    before = RunFolder(tmp_path).model.stat().st_mtime_ns
    assert run(tmp_path) == undisturbed
    assert RunFolder(tmp_path).model.stat().st_mtime_ns == before


def test_seeds_decide_weights_and_nothing_else_does(tmp_path, undisturbed):
    torch.manual_seed(123)
    torch.rand(7)
    assert run(tmp_path / "again") == undisturbed
    assert run(tmp_path / "other", replace(RECIPE, seed=1)) != undisturbed
    state = torch.get_rng_state()
    build_network(RECIPE, 10)
    assert torch.equal(torch.get_rng_state(), state)


def test_training_lowers_the_loss_and_classifies_noisy_test_images(tmp_path):
    recipe = replace(RECIPE, epochs=8, lr=0.02, batch=32, schedule=LinearDecay())
    run(tmp_path, recipe)
    rows = read_training_log(RunFolder(tmp_path).training_log)
    assert rows[-1]["cross_entropy"] < rows[0]["cross_entropy"]
    assert rows[-1]["test_noisy_accuracy"] > 0.5
    assert rows[-1]["seconds_descent"] > 0 and rows[-1]["peak_memory_process"] > 1e7
    parts = sum(rows[-1][f"seconds_{p}"] for p in ("data", "attack", "descent"))
    assert parts == pytest.approx(rows[-1]["seconds"], rel=0.01)


def test_a_damaged_checkpoint_gives_way_to_the_one_before_it(tmp_path, undisturbed):
    run(tmp_path, stop_after=9)
    run(tmp_path, stop_after=12)
    checkpoint = RunFolder(tmp_path).checkpoint
    data = bytearray(checkpoint.read_bytes())
    data[-100] ^= 1
    checkpoint.write_bytes(data)
    with pytest.warns(UserWarning, match="going on from checkpoint.previous"):
        assert run(tmp_path) == undisturbed


def test_a_lost_checkpoint_gives_way_silently(tmp_path, undisturbed):
    # Killed between the two renames of a save.
    run(tmp_path, stop_after=12)
    checkpoint = RunFolder(tmp_path).checkpoint
    checkpoint.replace(previous(checkpoint))
    assert run(tmp_path) == undisturbed


def test_two_damaged_checkpoints_stop_with_an_error(tmp_path):
    run(tmp_path, stop_after=12)
    checkpoint = RunFolder(tmp_path).checkpoint
    for path in (checkpoint, previous(checkpoint)):
        path.write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="damaged"), pytest.warns(UserWarning):
        run(tmp_path)


def test_a_folder_of_another_recipe_is_refused(tmp_path):
    run(tmp_path, stop_after=1)
    with pytest.raises(InputError, match=r"lr: 0.01 there, 0.02 asked for"):
        run(tmp_path, replace(RECIPE, lr=0.02))


def test_divergence_stops_before_it_overwrites_a_good_checkpoint(tmp_path):
    with pytest.raises(InputError, match="diverged"):
        run(tmp_path, replace(RECIPE, lr=1e6, nesterov=False))
    assert not RunFolder(tmp_path).model.exists()


def test_each_epoch_sees_each_image_once_in_another_order():
    first, second = (torch.cat(step_indices(RECIPE, 320, epoch)) for epoch in (0, 1))
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(320))
    assert not torch.equal(first, second)


def test_a_fraction_of_the_images_is_evenly_spaced_shuffled_and_the_same_in_every_epoch():
    first, second = (torch.cat(step_indices(replace(RECIPE, fraction=0.1), 320, epoch)) for epoch in (0, 1))
    assert first.sort().values.tolist() == second.sort().values.tolist() == [*range(0, 320, 10)]
    assert not torch.equal(first, second)
    assert torch.cat(step_indices(replace(RECIPE, fraction=1e-6), 320, 0)).tolist() == [0]


@pytest.mark.parametrize("m", [2, 3, 4])
def test_batches_cut_by_m_are_slices_of_the_same_batches(m):
    objective = replace(OBJECTIVE, m=m)
    whole = step_indices(replace(RECIPE, objective=objective), 320, 0)
    cut = step_indices(replace(RECIPE, objective=objective, split_batch=True), 320, 0)
    assert len(cut) == m * len(whole)
    assert all(len(part) == 64 // m for part in cut)
    for i, batch in enumerate(whole):
        assert torch.equal(torch.cat(cut[m * i : m * i + m]), batch[: 64 // m * m])


def test_learning_rates_follow_the_paper_and_its_code():
    text, code = StepDecay(30), StepDecay(30, late=1)
    assert [text.factor(e, 90) for e in (0, 29, 30, 59, 60, 89)] == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01])
    epochs = [round(math.log10(code.factor(e, 90))) for e in range(90)]
    assert [epochs.count(k) for k in (0, -1, -2)] == [31, 30, 29]
    assert LinearDecay(2).factor(1, 10) == 0.5 and LinearDecay(2).factor(10, 10) == 0


def test_progress_reports_every_step_and_epoch(tmp_path):
    events = list(train_on(RECIPE, tmp_path, TRAIN, TEST, CPU))
    assert [type(e) is Epoch for e in events] == ([False] * 5 + [True]) * 2
    assert json.dumps(events[-1].row)


def test_a_run_folder_has_one_training_at_a_time(tmp_path, undisturbed):
    first = train_on(RECIPE, tmp_path, TRAIN, TEST, CPU)
    next(first)
    with pytest.raises(InputError, match="another process is busy"):
        run(tmp_path)
    first.close()
    forgotten = train_on(RECIPE, tmp_path, TRAIN, TEST, CPU)
    next(forgotten)
    del forgotten
    assert run(tmp_path) == undisturbed


def test_a_training_does_not_go_on_with_other_images_but_does_from_an_older_checkpoint(tmp_path):
    run(tmp_path, stop_after=6)
    others = replace(TRAIN, images=255 - TRAIN.images)
    with pytest.raises(InputError, match="the training images have changed since it began"):
        next(train_on(RECIPE, tmp_path, others, TEST, CPU))
    checkpoint = RunFolder(tmp_path).checkpoint
    tensors, about = load_weights(checkpoint)
    save_weights(checkpoint, tensors, {key: said for key, said in about.items() if key != "data_fingerprint"})
    assert run(tmp_path) == digest(load_weights(RunFolder(tmp_path).model)[0])


def test_a_sampler_that_leaves_fewer_images_than_views_is_one_line(tmp_path):
    recipe = replace(RECIPE, split_batch=True)
    goal, learner, save = recipe.objective, None, None
    with pytest.raises(InputError, match="left fewer images than m = 2"):
        few = replace(TRAIN, images=TRAIN.images[:1], labels=TRAIN.labels[:1])
        learner = loop.Learner(recipe, build_network(recipe, 10))
        next(loop._rest_of_epoch(recipe, goal, learner, few, loop.Position(), save, loop.Team(), None))
