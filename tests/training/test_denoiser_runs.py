"""Denoisers are trained as classifiers are: reproducible, resumable, and through the classifier that was named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.cli.running import fails, smoothcert

from smoothcert.certification.target import open_target
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.interchange.weights import digest, load_weights
from smoothcert.models import build_denoiser
from smoothcert.noise import Gaussian
from smoothcert.objectives import Denoising, Goal, NoisePrediction, Plain
from smoothcert.recipes import LinearDecay, Recipe
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log
from smoothcert.training import loop
from smoothcert.training.build_network import build_network
from smoothcert.training.frozen_classifier import FrozenClassifier, read_classifier
from smoothcert.training.loop import train_on
from smoothcert.training.train import train

CPU = torch.device("cpu")
TRAIN, TEST = load("fake", "train"), load("fake", "test")


def recipe_of(objective: Goal, model: str = "unet4", **changed: object) -> Recipe:
    recipe = Recipe("fake", model, objective, epochs=2, lr=0.01, schedule=LinearDecay(), batch=64)
    return replace(replace(recipe, second_moment=0.99, nesterov=False, ema=0.9), **changed)  # type: ignore[arg-type]


GOALS = {
    "squared error": recipe_of(Denoising()),
    "stability": recipe_of(Denoising((0.5,), stability=0.1)),
    "noise": recipe_of(NoisePrediction(), "unet_noise4"),
    "plain": recipe_of(Plain(), "lenet", ema=None, lr=0.002, epochs=3),
}


def run(
    folder: Path, recipe: Recipe, classifier: FrozenClassifier | None = None, stop_after: int | None = None
) -> str | None:
    """Train; stopped by abandoning the generator, after which all that counts is on disk, as after kill -9."""
    for number, _ in enumerate(train_on(recipe, folder, TRAIN, TEST, CPU, classifier=classifier), 1):
        if number == stop_after:
            return None
    return digest(load_weights(RunFolder(folder).model)[0])


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("plain") / "plain-run"
    run(folder, GOALS["plain"])
    return folder


@pytest.mark.parametrize("name", GOALS)
def test_an_interrupted_run_ends_with_the_same_weights(
    name: str, plain_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = GOALS[name]
    classifier = read_classifier(plain_run, TRAIN) if name == "stability" else None
    undisturbed = run(tmp_path / "whole", recipe, classifier)
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(loop, "_SHARE_OF_TIME_FOR_CHECKPOINTS", 1e9)
    for stop in (2, 6):
        run(tmp_path / "stopped", recipe, classifier, stop)
    assert run(tmp_path / "stopped", recipe, classifier) == undisturbed
    whole, stopped = (read_training_log(tmp_path / part / "train.jsonl") for part in ("whole", "stopped"))
    for a, b in zip(whole, stopped, strict=True):
        assert {k: v for k, v in a.items() if "seconds" not in k and "second" not in k and "memory" not in k} == {
            k: v for k, v in b.items() if "seconds" not in k and "second" not in k and "memory" not in k
        }


def test_the_squared_error_falls_below_that_of_the_filter_it_starts_as(tmp_path: Path) -> None:
    recipe = recipe_of(Denoising((0.5,)), epochs=6)
    run(tmp_path, recipe)
    rows = read_training_log(tmp_path / "train.jsonl")
    assert rows[-1]["mse"] == rows[-1]["squared_error"] < 0.7 * rows[0]["mse"]
    x, y = TEST.batch(torch.arange(len(TEST)))
    with torch.no_grad():
        filtered = Denoising((0.5,)).watch(build_network(recipe, 10), x, y, torch.Generator().manual_seed(0))
    assert rows[-1]["test_mse"] < 0.7 * float(filtered["mse"]) / len(TEST)
    assert "noisy_accuracy" not in rows[0] and "test_noisy_accuracy" not in rows[0]


def test_the_weights_say_what_they_are_for_and_denoise_as_tested(tmp_path: Path) -> None:
    run(tmp_path / "denoiser", GOALS["squared error"])
    weights, about = load_weights(tmp_path / "denoiser" / "model.safetensors")
    assert about["task"] == "denoise" and about["model"] == "unet4" and tuple(about["input_shape"]) == (1, 28, 28)
    assert about["noise"] is None
    f = build_denoiser(about["model"], about["input_shape"][0])
    f.load_state_dict(weights)
    last = read_training_log(tmp_path / "denoiser" / "train.jsonl")[-1]
    again = loop.watch(GOALS["squared error"], GOALS["squared error"].objective, f, TEST, 1, CPU)
    assert again["test_mse"] == pytest.approx(last["test_mse"], rel=1e-5)
    run(tmp_path / "noise", GOALS["noise"])
    about = load_weights(tmp_path / "noise" / "model.safetensors")[1]
    assert (about["task"], about["schedule"]) == ("predict-noise", "linear")


def test_a_stable_denoiser_is_of_its_classifier(plain_run: Path, tmp_path: Path) -> None:
    recipe, out = GOALS["stability"], tmp_path / "denoiser"
    first = train(recipe, out, classifier=plain_run, device="cpu").finish()
    said = json.loads((out / "recipe.json").read_text())["objective"]["classifier"]
    assert said == digest(load_weights(plain_run / "model.safetensors")[0])
    assert load_weights(out / "model.safetensors")[1]["recipe"]["objective"]["classifier"] == said
    assert {"squared_error", "stability", "mse", "agreement", "test_agreement"} <= first.epochs[-1].keys()
    assert "same class" in first.tested and "PSNR" in first.tested
    train(recipe, out, classifier=plain_run / "model.safetensors", device="cpu").finish()  # the same

    other = tmp_path / "other"
    run(other, replace(GOALS["plain"], seed=1))
    with pytest.raises(InputError, match=r"another recipe \(.*classifier"):
        train(recipe, out, classifier=other, device="cpu").finish()
    with pytest.raises(InputError, match=r"classifier has sha256 .* name the one it was begun with"):
        train(str(out / "recipe.json"), out, classifier=other, device="cpu").finish()
    with pytest.raises(InputError, match="name its run with --classifier"):
        train(recipe, out, device="cpu").finish()
    with pytest.raises(InputError, match="leave --classifier out"):
        train(GOALS["squared error"], tmp_path / "x", classifier=plain_run, device="cpu").finish()


def test_what_is_no_classifier_is_refused(plain_run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such run"):
        read_classifier(tmp_path / "nowhere", TRAIN)
    with pytest.raises(InputError, match="not a run folder"):
        read_classifier(tmp_path, TRAIN)
    run(tmp_path / "denoiser", replace(GOALS["squared error"], epochs=1))
    with pytest.raises(InputError, match="holds no classifier"):
        read_classifier(tmp_path / "denoiser", TRAIN)


OWN = """
import torch

def network():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))

class NoDenoiser(torch.nn.Module):
    def forward(self, x, sigma):
        return x.flatten(1)[:, :10]

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.by = torch.nn.Parameter(torch.ones(1))

    def forward(self, x, sigma):
        return self.by * x
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"own_denoisers_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_anybodys_network_can_be_the_classifier(own: str) -> None:
    found = read_classifier(f"{own}:network", TRAIN)
    assert not found.f.training and len(found.sha256) == 64


def test_networks_and_objectives_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for model, objective, words in (
        ("lenet", Denoising(), "unknown denoiser 'lenet'"),
        ("unet4", Plain(), "unknown model 'unet4'"),
        ("unet_noise4", Denoising(), "is a network to predict-noise"),
        ("unet4", NoisePrediction(), "is a network to denoise"),
    ):
        with pytest.raises(InputError, match=words):
            run(tmp_path, recipe_of(objective, model))
    assert not list(tmp_path.iterdir())


def test_a_denoiser_of_ones_own_is_tried_out_first(own: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(InputError, match=r"gives \(2, 10\) .* images \(2, 1, 28, 28\) are needed"):
        run(folder, recipe_of(Denoising(), f"{own}:NoDenoiser"))
    assert run(folder, recipe_of(Denoising((0.5,)), f"{own}:Scaled", epochs=1))
    assert load_weights(folder / "model.safetensors")[1]["task"] == "denoise"


def test_bfloat16_trains_a_denoiser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain_run: Path) -> None:
    monkeypatch.setenv("SMOOTHCERT_EMULATE_BF16", "1")
    recipe = replace(GOALS["stability"], precision="bfloat16", epochs=1)
    assert run(tmp_path, recipe, read_classifier(plain_run, TRAIN))
    assert load_weights(tmp_path / "model.safetensors")[0]["unet.head.weight"].dtype == torch.bfloat16


def test_a_classifier_that_saw_no_noise_is_certified_under_the_noise_one_names(plain_run: Path) -> None:
    last = read_training_log(plain_run / "train.jsonl")[-1]
    assert last["test_accuracy"] > 0.9
    with pytest.raises(InputError, match=r"was trained without noise: .* --sigma"):
        open_target(plain_run, device=CPU)
    target = open_target(plain_run, device=CPU, noise=Gaussian(0.25))
    assert target.noise == Gaussian(0.25) and "trained without any" in target.note


def test_the_commands_say_what_to_do_next(plain_run: Path, tmp_path: Path) -> None:
    set_ = ("data=fake", "epochs=1", "model=unet4", "precision=float32")
    done = smoothcert("train", "denoiser/mnist/all", "--set", *set_, "--out", "d", "--progress", "none", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "test MSE 0.0" in done.stdout and "(next: smoothcert certify CLASSIFIER --denoiser d)" in done.stdout
    line = fails("certify", "d", cwd=tmp_path)
    assert "is a denoiser" in line and "certify CLASSIFIER --denoiser d" in line
    stable = ("train", "denoiser/mnist/stability/0.25", "--set", *set_, "--out", "s", "--progress", "none")
    assert "name its run with --classifier" in fails(*stable, cwd=tmp_path)
    done = smoothcert(*stable, "--classifier", plain_run, cwd=tmp_path)
    assert done.returncode == 0 and "same class" in done.stdout, done.stderr
    assert "--sigma" in fails("certify", plain_run, cwd=tmp_path)
    done = smoothcert(
        "certify", plain_run, "--sigma", 0.25, "--n", 100, "--every", 20, "--progress", "plain", cwd=tmp_path
    )
    assert done.returncode == 0 and "trained without any" in done.stderr, done.stderr
    done = smoothcert("verify", plain_run / "certify.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
