"""Fine-tuning: a training that starts from given weights, and says from which."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tests.own import student_in
from tests.training.test_loop import CPU, RECIPE, TEST, TRAIN

from smoothcert.errors import InputError, Notice
from smoothcert.interchange.weights import digest, load_weights, save_weights
from smoothcert.models import build
from smoothcert.recipes import RECIPES, FirstNetwork, Init, find_recipe, from_dict, override, to_dict
from smoothcert.recipes.estimate import training_passes
from smoothcert.records.run_folder import RunFolder
from smoothcert.training import loop
from smoothcert.training.build_network import build_network
from smoothcert.training.loop import train_on
from smoothcert.training.start import read_start
from smoothcert.training.train import train

SHORT = replace(RECIPE, epochs=1)


def tuned(folder, init, recipe=SHORT, stop_after=None):
    start = read_start(init, recipe, 10)
    for number, _ in enumerate(train_on(start.of(recipe), folder, TRAIN, TEST, CPU, start=start), 1):
        if number == stop_after:
            return None
    return digest(load_weights(RunFolder(folder).model)[0])


def write_run(folder, f, **about):
    """As a finished training leaves it."""
    said = {"model": "lenet", "num_classes": 10, "normalization": "standard"} | about
    save_weights(RunFolder(folder).model, f.state_dict(), said)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    torch.manual_seed(7)
    return write_run(tmp_path_factory.mktemp("base"), build("lenet", 10))


def test_fresh_weights_of_the_same_seed_are_no_init(tmp_path):
    fresh = write_run(tmp_path / "fresh", build_network(SHORT, 10))
    for _ in train_on(SHORT, tmp_path / "none", TRAIN, TEST, CPU):
        pass
    assert tuned(tmp_path / "tuned", fresh) == digest(load_weights(RunFolder(tmp_path / "none").model)[0])


def test_the_first_step_is_made_from_the_given_weights(tmp_path, base):
    still = replace(SHORT, lr=0.0, weight_decay=0.0, ema=0.9)
    assert tuned(tmp_path, base, still) == digest(load_weights(RunFolder(base).model)[0])


@pytest.mark.parametrize("stops", [[1], [3, 2]])
def test_an_interrupted_run_ends_with_the_same_weights(tmp_path, monkeypatch, base, stops):
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(loop, "_SHARE_OF_TIME_FOR_CHECKPOINTS", 1e9)
    for stop in stops:
        tuned(tmp_path / "stopped", base, stop_after=stop)
    assert tuned(tmp_path / "stopped", base) == tuned(tmp_path / "whole", base)


def test_the_run_folder_says_where_it_started_and_other_weights_are_refused(tmp_path, base):
    tuned(tmp_path / "run", base, stop_after=1)
    recipe = RunFolder(tmp_path / "run").read_recipe()
    assert recipe.init == Init(base.name, digest(load_weights(RunFolder(base).model)[0]))
    assert from_dict(to_dict(recipe)) == recipe
    other = write_run(tmp_path / "other", build_network(SHORT, 10))
    with pytest.raises(InputError, match=r"another recipe \(init\.name: base0 there, other asked for; init\.sha256: "):
        tuned(tmp_path / "run", other)
    with pytest.raises(InputError, match="another recipe"):
        list(train_on(SHORT, tmp_path / "run", TRAIN, TEST, CPU))
    with pytest.raises(InputError, match="the recipe starts from base0"):
        read_start(other, recipe, 10).of(recipe)
    with pytest.raises(InputError, match=r"starts from given weights \(base0\): name those with --init"):
        list(train_on(recipe, tmp_path / "new", TRAIN, TEST, CPU))
    assert not (tmp_path / "new").exists()


def test_files_of_the_same_weights_start_the_same_training(tmp_path, base):
    weights, _ = load_weights(RunFolder(base).model)
    save_file({name: t.clone() for name, t in weights.items()}, tmp_path / "plain.safetensors")
    torch.save({"arch": "lenet", "state_dict": {f"module.{k}": v for k, v in weights.items()}}, tmp_path / "f.pth.tar")
    torch.save(weights, tmp_path / "f.pth")
    expected = read_start(base, SHORT, 10)
    for file in (RunFolder(base).model, *map(tmp_path.joinpath, ("plain.safetensors", "f.pth.tar", "f.pth"))):
        found = read_start(file, SHORT, 10)
        assert digest(found.weights) == digest(expected.weights), file
        assert found.init.name == file.name and (file.parent == tmp_path or found.init.sha256 == expected.init.sha256)


def test_weights_rounded_to_bfloat16_start_a_training_in_float32(tmp_path):
    f = build("lenet", 10)
    rounded = {name: t.bfloat16() if t.ndim >= 2 else t for name, t in f.state_dict().items()}
    save_weights(
        tmp_path / "f.safetensors", rounded, {"model": "lenet", "num_classes": 10, "normalization": "standard"}
    )
    found = read_start(tmp_path / "f.safetensors", SHORT, 10)
    assert {t.dtype for t in found.weights.values()} == {torch.float32}
    assert found.init.sha256 == digest(rounded)  # as a certificate of this run has it


def test_a_network_of_ones_own_starts_from_a_checkpoint_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with student_in(tmp_path) as student:
        recipe = replace(SHORT, model=f"{student.module}:Net")
        f = build_network(replace(recipe, seed=5), 10)
        torch.save(f.state_dict(), tmp_path / "f.pth")
        found = read_start(tmp_path / "f.pth", recipe, 10)
        assert digest(found.weights) == digest(f.state_dict())


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"model": "cifar_resnet20"}, "has model cifar_resnet20, but the recipe has lenet"),
        ({"num_classes": 7}, "has num_classes 7, but the recipe has 10"),
        ({"normalization": "none"}, "has normalization none, but the recipe has standard"),
    ],
)
def test_weights_of_another_network_are_refused_in_one_line(tmp_path, about, words):
    with pytest.raises(InputError, match=words):
        read_start(write_run(tmp_path, build("lenet", 10), **about), SHORT, 10)


def test_what_is_no_finished_model_is_refused_in_one_line(tmp_path, base):
    wrong = build("cifar_resnet8", 10)
    torch.save(wrong.state_dict(), tmp_path / "wrong.pth")
    (tmp_path / "noise.safetensors").write_bytes(b"x" * 50)
    (tmp_path / "empty").mkdir()
    tuned(tmp_path / "half", base, stop_after=1)
    cases = {
        "wrong.pth": "not the weights of lenet|no last layer",
        "noise.safetensors": "not a weights file",
        "empty": "not a run folder",
        "half": "training is not finished",
        "nowhere": "not a run folder, nor a file",
    }
    for name, words in cases.items():
        with pytest.raises(InputError, match=words) as caught:
            read_start(tmp_path / name, SHORT, 10)
        assert "\n" not in str(caught.value)
    write_run(tmp_path / "lies", wrong)
    with pytest.raises(InputError, match="does not fit lenet") as caught:
        read_start(tmp_path / "lies", SHORT, 10)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_of_a_training_is_no_start(tmp_path, base, monkeypatch):
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    tuned(tmp_path, base, stop_after=2)
    with pytest.raises(InputError, match="holds no finished model"):
        read_start(RunFolder(tmp_path).checkpoint, SHORT, 10)


def test_init_is_given_and_not_set():
    with pytest.raises(InputError, match="--init"):
        override(RECIPE, ["init={name='a', sha256='b'}"])
    with pytest.raises(InputError, match="64 hexadecimal digits"):
        Init("a", "b")


def test_the_verb_takes_a_run_and_tells_it(tmp_path, base):
    run = train(SHORT, tmp_path / "run", init=base, device="cpu").finish()
    assert run.recipe.init.name == base.name
    assert load_weights(RunFolder(tmp_path / "run").model)[1]["recipe"]["init"]["name"] == base.name
    again = train(RunFolder(tmp_path / "run").recipe, tmp_path / "again", init=run, device="cpu")
    with pytest.raises(InputError, match="these are other weights"):
        again.finish()


def test_a_denoiser_starts_from_given_weights_too(tmp_path: Path) -> None:
    small = ["data=fake", "model=unet4", "epochs=1", "ema=0.5", "precision=float32"]
    recipe = override(find_recipe("denoiser/mnist/all"), small)
    begun = train(recipe, tmp_path / "one", device="cpu").finish()
    further = train(recipe, tmp_path / "two", init=begun, device="cpu").finish()
    assert further.recipe.init is not None and further.recipe.init.name == "one"
    with pytest.raises(InputError, match="unet8"):
        train(override(recipe, ["model=unet8"]), tmp_path / "three", init=begun, device="cpu").finish()


def test_a_recipe_may_ask_for_a_run_of_another_one(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "fake/first", SHORT)
    asks = replace(SHORT, lr=0.005, starts_from="fake/first")
    assert training_passes(asks) == 2 * training_passes(SHORT)
    with pytest.raises(InputError, match="starts from a run of fake/first: train that first, then name its folder"):
        train(asks, tmp_path / "none", device="cpu").finish()
    assert not (tmp_path / "none").exists()
    begun = train(SHORT, tmp_path / "begun", seed=3, device="cpu").finish()
    run = train(asks, tmp_path / "run", init=begun, device="cpu").finish()
    assert run.recipe.init == Init("begun", digest(load_weights(RunFolder(begun.folder).model)[0]))
    assert training_passes(run.recipe) == 2 * training_passes(SHORT)
    assert from_dict(to_dict(run.recipe)) == run.recipe
    train(asks, tmp_path / "run", init=begun, device="cpu").finish()  # called again, it is done
    other = train(replace(SHORT, momentum=0.5), tmp_path / "other", device="cpu").finish()
    for wrong in (base, other.folder):  # weights that tell no recipe, and those of another
        with pytest.raises(InputError, match="the recipe starts from a run of fake/first, and this is of another one"):
            train(asks, tmp_path / "none", init=wrong, device="cpu").finish()
    torch.save(build("lenet", 10).state_dict(), tmp_path / "f.pth")
    with pytest.raises(InputError, match="and this is none of ours"):
        train(asks, tmp_path / "none", init=tmp_path / "f.pth", device="cpu").finish()


def test_how_long_given_weights_were_trained_is_not_known(tmp_path: Path, base: Path) -> None:
    run = train(SHORT, tmp_path / "run", init=base, device="cpu").finish()
    with pytest.raises(InputError, match="how long the weights of base0 were trained is not known"):
        training_passes(run.recipe)


def test_a_first_network_starts_anew() -> None:
    asks = replace(find_recipe("cifar10/cat-rs/0.25"), first=FirstNetwork("cifar10/gaussian-onward/0.25"))
    with pytest.raises(InputError, match="starts from a run of another: name one that starts anew"):
        training_passes(asks)


def test_a_checkpoint_of_others_may_have_seen_what_is_put_aside_and_it_is_said(tmp_path: Path) -> None:
    torch.save(build("lenet", 10).state_dict(), tmp_path / "theirs.pth")
    with pytest.warns(Notice, match=r"held_out\) may be among those it was trained on"):
        read_start(tmp_path / "theirs.pth", replace(SHORT, held_out=40), 10)
    read_start(tmp_path / "theirs.pth", SHORT, 10)  # warnings are errors here
