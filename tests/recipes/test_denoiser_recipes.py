"""The recipes of denoised smoothing: listed, readable, and each trains a step."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from smoothcert.cli.recipes import describe
from smoothcert.data import Dataset
from smoothcert.errors import InputError
from smoothcert.objectives import Denoising
from smoothcert.recipes import RECIPES, denoisers, find_recipe, from_dict, matching, override, reduced_recipe, to_dict
from smoothcert.recipes.recipe_file import read_recipe, to_toml
from smoothcert.records.training_log import read_training_log
from smoothcert.reproduction.plan import items
from smoothcert.training.frozen_classifier import FrozenClassifier
from smoothcert.training.loop import train_on

NAMES = list(denoisers.RECIPES)
STAND_INS = {"unet32": "unet2", "unet64": "unet2", "unet_noise32": "unet_noise2", "cifar_wide50": "cifar_wide10"}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_written_and_read_again(name: str, tmp_path: Path) -> None:
    recipe = find_recipe(name)
    assert from_dict(to_dict(recipe)) == recipe == override(recipe, [])
    (tmp_path / "recipe.toml").write_text(to_toml(recipe))
    assert read_recipe(tmp_path / "recipe.toml") == recipe
    small = reduced_recipe(recipe, 0.01)
    assert small.objective == recipe.objective and small.epochs == 1 and small.reduced
    assert describe(name)["recipe"] == name and name in matching(name.rpartition("/")[0])


@pytest.mark.parametrize("name", NAMES)
def test_it_trains_a_step(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMOOTHCERT_EMULATE_BF16", "1")
    row = find_recipe(name)
    shape = (1, 28, 28) if row.data == "mnist" else (3, 32, 32)
    pixels = np.random.Generator(np.random.PCG64(0)).integers(0, 256, (2, *shape)).astype(np.uint8)
    data = Dataset.of("random", "train", pixels, np.arange(2), 10)
    classifier = None
    if isinstance(row.objective, Denoising) and row.objective.stability:
        f = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 10)).eval().requires_grad_(False)
        classifier = FrozenClassifier(f, "ab")
    recipe = replace(row, model=STAND_INS.get(row.model, row.model), epochs=1, batch=2)
    list(train_on(recipe, tmp_path, data, data, torch.device("cpu"), classifier=classifier))
    (epoch,) = read_training_log(tmp_path / "train.jsonl")
    assert all(math.isfinite(value) for value in epoch.values())


def test_they_are_known_by_their_sigma_and_are_no_rows_to_certify() -> None:
    assert describe("denoiser/mnist/all")["noise"] == "Gaussian 0.25, 0.5, 1"
    assert describe("mnist/plain")["noise"] == "none" and describe("denoiser/mnist/0.25")["cost"]["votes"] is None
    assert [item.certified for item in items("denoiser/mnist/0.25") + items("mnist/plain")] == [False, False]


def test_values_of_a_goal_can_be_set() -> None:
    changed = override(RECIPES["denoiser/mnist/all"], ["sigmas=[0.3]", "stability=2", "objective.mse=0"])
    assert changed.objective == Denoising((0.3,), mse=0.0, stability=2.0)


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ({"kind": "denoizing"}, r"recipe.objective: unknown kind 'denoizing': did you mean denoising\?"),
        ({"kind": "own.parts:Goal"}, "cannot be one's own"),
        ({"kind": "denoising", "m": 2}, "unknown field 'm'"),
        ({"kind": ["denoising"]}, "unknown kind"),
        ({"kind": "plain", "noise": {"kind": "gaussian", "sigma": 0.5}}, "unknown field 'noise'"),
        ({"terms": [{"kind": "cross_entropy"}]}, "noise is missing"),
    ],
)
def test_a_goal_that_is_none_is_refused(objective: dict[str, object], words: str) -> None:
    for opens in (False, True):
        with pytest.raises(InputError, match=words):
            from_dict(to_dict(RECIPES["mnist/plain"]) | {"objective": objective}, opens)
