"""What a recipe costs, counted by hand and epoch by epoch."""

from dataclasses import replace

import pytest

from smoothcert.attacks import PGD
from smoothcert.recipes import RECIPES, Recipe, certification_of, find_recipe
from smoothcert.recipes.estimate import MILLISECONDS, estimate, networks_in, passes_per_image, training_passes


def test_members_and_mirrors_are_passes_of_their_own() -> None:
    one = find_recipe("mnist/consistency/0.50")
    names = {"lenet": 1, "lenet*5": 5, "lenet+mirror": 2, "lenet*5+mirror": 10}
    for name, networks in names.items():
        recipe = replace(one, model=name)
        assert networks_in(name) == networks and training_passes(recipe) == 180 * networks
        cost, single = estimate(recipe, certification_of("mnist")), estimate(one, certification_of("mnist"))
        assert cost.passes == 60_000 * 180 * networks and cost.votes == single.votes
        assert cost.training_hours == pytest.approx(networks * single.training_hours)
        assert cost.certification_hours == pytest.approx(networks * single.certification_hours)


def test_the_first_network_of_cat_rs_is_paid_for() -> None:
    recipe = find_recipe("mnist/cat-rs/0.25")
    assert training_passes(recipe) == 150 * 24 + 150
    assert recipe.first is not None
    given = replace(recipe, first=replace(recipe.first, sha256="0" * 64, scale=0.1))
    assert training_passes(given) == 150 * 24 + 15


def test_an_attack_counts_from_its_start() -> None:
    """m = 4 views in each of 150 epochs, and T = 3 steps on each in the last 90."""
    recipe = find_recipe("cifar10/easy-images/0.25")
    assert passes_per_image(recipe) == 4 * (1 + 3) and training_passes(recipe) == 150 * 4 + 90 * 4 * 3
    assert estimate(recipe, certification_of("cifar10")).passes == 50_000 * training_passes(recipe)
    assert training_passes(replace(recipe, epochs=10)) == 10 * 4


def test_an_attack_that_is_shown_fewer_views_costs_as_many() -> None:
    recipe = find_recipe("mnist/consistency-fast/1.00")
    assert passes_per_image(recipe) == 4 + 4
    objective = replace(recipe.objective, attack=PGD(1.5, steps=3, views=1))
    assert passes_per_image(replace(recipe, objective=objective)) == 4 + 3


@pytest.mark.parametrize("name", RECIPES)
def test_passes_are_those_of_each_epoch_by_itself(name: str) -> None:
    recipe = RECIPES[name]
    epochs = (replace(recipe, objective=recipe.objective.at(e)) for e in range(recipe.epochs))
    own = sum(map(passes_per_image, epochs)) * networks_in(recipe.model) * (recipe.fraction or 1)
    first = 0 if recipe.first is None else training_passes(_first(name))
    before = 0 if recipe.starts_from is None else training_passes(find_recipe(recipe.starts_from))
    assert training_passes(recipe) - own == first + before


def _first(name: str) -> Recipe:
    first = RECIPES[name].first
    assert first is not None and first.scale == 1
    return RECIPES[first.recipe]


def test_no_votes_take_no_time() -> None:
    """A denoiser votes on nothing: what a vote takes is not known, and not needed."""
    for name in ("denoiser/mnist/0.25", "denoiser/mnist/all"):
        recipe = find_recipe(name)
        cost = estimate(recipe, certification_of("mnist"))
        assert cost.passes is not None and cost.certification_hours is None
        assert cost.training_hours == pytest.approx(cost.passes * MILLISECONDS[recipe.model][0] / 3.6e6)
