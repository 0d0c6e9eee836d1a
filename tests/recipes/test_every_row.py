"""Every row of the paper trains a step and certifies two images.

The deep networks would take minutes over all rows, so a ResNet-8 stands in for them; objective, attack with all its
steps, optimiser and noise are the row's own. Two images are one batch: not cut by m. Each network in full has a test
of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from smoothcert.certification.target import open_target
from smoothcert.data import Dataset
from smoothcert.recipes import RECIPES, Recipe, find_recipe, to_dict
from smoothcert.records.training_log import read_training_log
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.training.build_network import build_network
from smoothcert.training.loop import Step, train_on

OTHERS = ("mnist5k/", "denoiser/", "diffusion/")  # these and what saw no noise have tests of their own
ROWS = [name for name in RECIPES if not name.startswith(OTHERS) and not name.endswith(("/text", "/plain"))]
PARAMETERS = {
    "lenet": 431_080,
    "cifar_resnet20": 272_474,
    "cifar_resnet110": 1_730_714,
    "cifar_densenet40": 211_978,
    "imagenet_resnet50": 25_557_032,
    "cifar_wide": 3_157_002,
    "photo_wide": 1_685_706,
}
CPU = torch.device("cpu")


def random_images(shape: tuple[int, ...], images: int, num_classes: int = 10) -> Dataset:
    rng = np.random.Generator(np.random.PCG64(0))
    pixels = rng.integers(0, 256, (images, *shape)).astype(np.uint8)
    return Dataset.of("random", "train", pixels, np.arange(images), num_classes)


def train_and_certify(recipe: Recipe, data: Dataset, folder: Path, n0: int) -> None:
    """One step of the real loop, then the run opened as `certify` does."""
    events = list(train_on(recipe, folder, data, data, CPU))
    assert [type(event) for event in events].count(Step) == 1 + (recipe.first is not None)
    (epoch,) = read_training_log(folder / "train.jsonl")
    assert all(math.isfinite(value) for value in epoch.values())
    target = open_target(folder, device=CPU)
    assert target.noise == recipe.objective.noise and target.about["recipe"] == to_dict(recipe)
    g = SmoothedClassifier(target.f, target.noise, target.num_classes)
    for index in range(len(data)):
        x, _ = data.batch(torch.tensor([index]))
        certificate = g.certify(x[0], n0, 10, 0.001, index=index)
        assert sum(certificate.estimation) == 10 and 0 <= certificate.radius <= 3.9 * target.noise.scale


@pytest.mark.parametrize("name", ROWS)
def test_a_row_trains_one_step_and_certifies_two_images_with_a_stand_in_for_deep_networks(
    name: str, tmp_path: Path
) -> None:
    row = find_recipe(name)
    small, shape = (row.model, (1, 28, 28)) if row.model == "lenet" else ("cifar_resnet8", (3, 32, 32))
    first = row.first and replace(row.first, votes=4, scale=1 / 150)  # one epoch of it
    if first and row.model != "lenet":
        first = replace(first, recipe="cifar10-resnet20/gaussian/0.50")
    recipe = replace(row, model=small, epochs=1, batch=2, split_batch=False, first=first, starts_from=None)
    train_and_certify(recipe, random_images(shape, 2), tmp_path, n0=4)


@pytest.mark.parametrize("model", PARAMETERS)
def test_every_network_in_full_trains_one_step_and_certifies_an_image(model: str, tmp_path: Path) -> None:
    name = next(name for name in ROWS if "/consistency" in name and find_recipe(name).model == model)
    classes = 1000 if model.startswith("imagenet") else 10
    recipe = replace(find_recipe(name), epochs=1, batch=1, split_batch=False)
    f = build_network(recipe, classes)
    assert sum(p.numel() for p in f.parameters()) == PARAMETERS[model]
    train_and_certify(recipe, random_images(f.input_shape, 1, classes), tmp_path, n0=1)


def test_no_row_has_another_network() -> None:
    assert {find_recipe(name).model for name in ROWS} == set(PARAMETERS)
