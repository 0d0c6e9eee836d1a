"""Parts that were trained apart: what is one f, and what its user hears."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from smoothcert import Gaussian, InputError, certify_run, open_target, train
from smoothcert.certification.certified import open_certified
from smoothcert.certification.composed import Part, composed
from smoothcert.interchange.weights import load_weights
from smoothcert.recipes import find_recipe, override
from smoothcert.records.log import read_certification

FAKE = ["data=fake", "epochs=1"]


def trained(folder: Path, *settings: str, recipe: str = "mnist5k/gaussian/0.50", **given: object) -> Path:
    return train(override(find_recipe(recipe), [*FAKE, *settings]), folder, device="cpu", **given).finish().folder  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier trained on all images, one that put 40 aside, and a denoiser for σ = 0.25."""
    folder = tmp_path_factory.mktemp("runs")
    trained(folder / "all")
    trained(folder / "aside", "held_out=40")
    small = ("model=unet4", "precision=float32", "ema=0.5")
    trained(folder / "denoiser", *small, recipe="denoiser/mnist/0.25")
    state = load_weights(folder / "all" / "model.safetensors")[0]
    torch.save({"arch": "lenet", "state_dict": state}, folder / "theirs.pth")
    return folder


@pytest.mark.parametrize("key", ["variant", "normalization", "schedule"])
def test_what_changes_a_part_changes_the_identity_of_the_whole(key: str) -> None:
    def identity(**said: str) -> str:
        about = {"name": "f", "sha256": "0" * 64, "variant": "v"} | said
        whole: str = composed([Part(nn.Flatten(), "f", about)], None, 1.0, mirror=True).about["sha256"]
        return whole

    assert identity() == identity() != identity(**{key: "other"})


def test_another_normalization_is_another_model(runs: Path, tmp_path: Path) -> None:
    log = certify_run(runs / "all", tmp_path / "log", n=20, every=20, device="cpu").finish()
    certified = read_certification(log)
    open_certified(runs / "all", certified, device="cpu")
    said = replace(certified.header.model, said=certified.header.model.said | {"normalization": "center"})  # type: ignore[type-var, union-attr]
    other = replace(certified, header=replace(certified.header, model=said))
    with pytest.raises(InputError, match="its normalization differs"):
        open_certified(runs / "all", other, device="cpu")


def test_who_may_have_seen_the_images_that_others_put_aside_is_named(runs: Path) -> None:
    leaking = open_target(runs / "aside", ensemble=[runs / "all"], device="cpu")
    assert leaking.split == "held-out-40" and "all may have been trained on these images" in leaking.note
    assert "trained on these images" not in open_target(runs / "all", ensemble=[runs / "aside"], device="cpu").note
    with pytest.raises(InputError, match="puts aside"):
        trained(runs / "tuned", "held_out=40", init=runs / "all")


def test_a_denoiser_for_another_noise_is_named(runs: Path) -> None:
    def note(sigma: float) -> str:
        return open_target(runs / "all", denoiser=runs / "denoiser", noise=Gaussian(sigma), device="cpu").note

    assert note(0.25) == "" and "trained for σ = 0.25, and is told 1" in note(1.0)


def test_a_run_joins_somebody_elses_model(runs: Path) -> None:
    both = open_target(
        runs / "theirs.pth", arch="lenet", noise=Gaussian(0.5), dataset="fake", ensemble=[runs / "aside"], device="cpu"
    )
    assert len(both.about["model"]["parts"]) == 2


def test_the_log_of_many_members_has_a_name_that_a_file_can_have(runs: Path) -> None:
    many = open_target(runs / "all", ensemble=[runs / "all"] * 60, device="cpu")
    assert len(many.log.name) < 150 and many.log.name.endswith(f"{many.about['model']['sha256'][:8]}.certify.jsonl")


def test_given_weights_are_known_by_what_they_are(runs: Path, tmp_path: Path) -> None:
    tuned = trained(tmp_path / "tuned", init=runs / "all")
    again = train(tuned / "recipe.json", tmp_path / "again", init=runs / "all" / "model.safetensors", device="cpu")
    assert again.finish().recipe.init.name == "all"  # type: ignore[union-attr]


def test_what_needs_a_classifier_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a sampler is for classifiers"):
        override(find_recipe("denoiser/mnist/0.25"), ['sampler={kind="easy_images", start=0}'])
    first = override(find_recipe("mnist5k/methods/cat-rs/0.50"), [*FAKE, "first.recipe=denoiser/mnist/0.25"])
    with pytest.raises(InputError, match="is no classifier that is trained under noise"):
        train(first, tmp_path / "first", device="cpu").finish()
    plain = override(find_recipe("mnist/plain"), FAKE)
    with pytest.raises(InputError, match="test accuracy"):
        train(plain, tmp_path / "plain", device="cpu").finish().noisy_accuracy  # noqa: B018
