"""A recipe's normalization is trained with, written down and certified with."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.training.together import RECIPES, images

from smoothcert import models
from smoothcert.certification.target import open_target
from smoothcert.errors import InputError
from smoothcert.interchange.weights import load_weights
from smoothcert.recipes import Recipe, override
from smoothcert.records.run_folder import RunFolder
from smoothcert.training.build_network import build_network
from smoothcert.training.loop import train_on

CPU = torch.device("cpu")


def with_normalization(word: str) -> Recipe:
    settings = ["model=cifar_resnet8", f"normalization={word}"]
    return override(RECIPES["batch norm"], settings)


@pytest.mark.parametrize("word", ["none", "center", "standard"])
def test_a_trained_run_is_certified_with_the_normalization_of_its_recipe(word: str, tmp_path: Path) -> None:
    recipe = with_normalization(word)
    list(train_on(recipe, tmp_path, images(recipe, "train"), images(recipe, "test"), CPU))
    weights, about = load_weights(RunFolder(tmp_path).model)
    assert about["normalization"] == word
    target = open_target(tmp_path, device=CPU)
    x = torch.rand(5, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    for other in ("none", "center", "standard"):
        f = models.build("cifar_resnet8", 10, other)
        f.load_state_dict(weights)
        apart = (f.eval()(x) - target.f(x)).abs().max()
        assert apart < 1e-4 if other == word else apart > 0.01, (other, apart)


def test_what_is_trained_has_no_layer_either_and_a_wrong_word_is_refused() -> None:
    assert isinstance(build_network(with_normalization("none"), 10).normalize, torch.nn.Identity)
    with pytest.raises(InputError, match="unknown normalization 'centre': did you mean center"):
        build_network(with_normalization("centre"), 10)
