"""SmoothMix and CAT-RS have the settings of their authors' commands, and what they cost is counted."""

from __future__ import annotations

import pytest

from smoothcert.analysis.setting import recipe_setting
from smoothcert.attacks import PGD, NoisePGD
from smoothcert.cli.recipes import describe
from smoothcert.objectives import CatRS, CrossEntropy, SmoothMix
from smoothcert.recipes import EasyImages, Recipe, StepDecay, after2020, find_recipe, override, reduced_recipe
from smoothcert.recipes.estimate import passes_per_image
from smoothcert.recipes.serialize import from_dict, to_dict

ALL = after2020.RECIPES


@pytest.mark.parametrize(("sigma", "steps"), [("0.25", 2), ("0.50", 4), ("1.00", 8)])
def test_smoothmix_on_mnist(sigma: str, steps: int) -> None:
    recipe = find_recipe(f"mnist/smoothmix/{sigma}")
    assert recipe.objective.terms == (CrossEntropy(), SmoothMix(5.0, 1.0, steps, warmup=10))
    assert (recipe.objective.m, recipe.split_batch, recipe.images_per_step) == (4, True, 64)
    assert (recipe.epochs, recipe.lr, recipe.nesterov, recipe.schedule) == (90, 0.01, False, StepDecay(30, late=1))
    onestep = find_recipe(f"mnist/smoothmix-onestep/{sigma}")
    assert recipe.objective.attack is None and onestep.objective.attack == PGD(1.0, 1, warmup=10)
    assert passes_per_image(recipe) == 4 * steps + 8 and passes_per_image(onestep) == 4 * steps + 12


@pytest.mark.parametrize(("sigma", "step", "onestep"), [("0.25", 0.5, 0), ("0.50", 1.0, 1), ("1.00", 2.0, 1)])
def test_smoothmix_on_cifar10(sigma: str, step: float, onestep: bool) -> None:
    recipe = find_recipe(f"cifar10/smoothmix/{sigma}")
    assert recipe.objective.terms == (CrossEntropy(), SmoothMix(5.0, step, 4)) and recipe.objective.m == 2
    assert recipe.objective.attack == (PGD(step, 1, warmup=10) if onestep else None)
    assert (recipe.model, recipe.epochs, recipe.images_per_step) == ("cifar_resnet110", 150, 128)


@pytest.mark.parametrize(("name", "lbd"), [("cifar10", (0.5, 1.0, 2.0)), ("mnist", (1.0, 1.0, 1.0))])
def test_cat_rs(name: str, lbd: tuple[float, ...]) -> None:
    for sigma, weight in zip(("0.25", "0.50", "1.00"), lbd, strict=True):
        recipe = after2020.RECIPES[f"{name}/cat-rs/{sigma}"]
        assert recipe.objective.terms == (CatRS(weight, epsilon=1.0, steps=4),) and recipe.objective.wants_votes
        assert (recipe.objective.m, recipe.images_per_step, recipe.epochs) == (4, 64, 150)
        assert recipe.schedule == StepDecay(50, late=1) and passes_per_image(recipe) == 4 * 4 + 8


@pytest.mark.parametrize(("sigma", "drop", "length", "steps"), [("0.25", 0.5, 0.75, 3), ("1.00", 0.4, 2.0, 4)])
def test_easy_images(sigma: str, drop: float, length: float, steps: int) -> None:
    recipe = find_recipe(f"cifar10/easy-images/{sigma}")
    assert recipe.sampler == EasyImages(start=60, every=10, drop=drop, drop_draws=100, draws=16, alpha=0.1, least=0.75)
    assert recipe.objective.attack == NoisePGD(length, steps, keep="norm", start=60) and recipe.objective.m == 4


@pytest.mark.parametrize("name", ALL)
def test_they_are_written_and_read_and_shrink(name: str) -> None:
    recipe = ALL[name]
    assert from_dict(to_dict(recipe)) == recipe
    small = reduced_recipe(recipe, 0.1)
    for term in small.objective.terms:
        if isinstance(term, SmoothMix) and recipe.epochs == 90:
            assert term.warmup == 1 and small.epochs == 9


def test_the_published_acr_stands_beside() -> None:
    assert set(after2020.PUBLISHED) <= set(ALL)
    assert describe("mnist/smoothmix/1.00")["paper"] == {"its paper": 1.823}


def test_settings_can_be_set() -> None:
    recipe = override(find_recipe("mnist/smoothmix/1.00"), ["steps=1", "step=8", "detached=true"])
    assert recipe.objective.terms[1] == SmoothMix(5.0, 8.0, 1, detached=True)
    wanted = 'objective.attack={kind="noise_pgd", epsilon=0.75, steps=3}'
    assert override(find_recipe("mnist/consistency/0.50"), [wanted]).objective.attack.keep == "norm"  # type: ignore[union-attr]


def test_their_logs_go_by_their_names_and_mixtures_have_none() -> None:
    def named(recipe: Recipe) -> str | None:
        return recipe_setting(recipe, 0.5).method

    assert {name: named(recipe) for name, recipe in ALL.items() if name.startswith("mnist5k/")} == {
        "mnist5k/methods/smoothmix/0.50": "smoothmix",
        "mnist5k/methods/smoothmix-onestep/0.50": "smoothmix-onestep",
        "mnist5k/methods/noise-attack+consistency/0.50": None,
        "mnist5k/methods/easy-images/0.50": None,
        "mnist5k/methods/cat-rs/0.50": "cat-rs",
    }
    assert named(after2020.method(CrossEntropy(), after2020.Consistency(1.0), SmoothMix(1.0, 1.0, 1), m=2)) is None
