"""What a recipe's first network is trained by."""

from __future__ import annotations

from dataclasses import replace

from smoothcert.errors import InputError
from smoothcert.recipes import listed_recipe, reduced_recipe
from smoothcert.recipes.first_network import FirstNetwork
from smoothcert.recipes.recipe import Recipe


def recipe_of_first(recipe: Recipe, first: FirstNetwork) -> Recipe:
    """The recipe that `first` names, on the images and with the seed of `recipe`."""
    try:
        named = listed_recipe(first.recipe)
    except InputError as error:
        raise InputError(f"recipe.first: {error}") from None
    if named.first is not None:
        raise InputError(f"recipe.first: {first.recipe} has a first network of its own: name one that has none")
    if named.starts_from is not None:
        raise InputError(f"recipe.first: {first.recipe} starts from a run of another: name one that starts anew")
    if named.objective.noise is None or named.objective.task != "classify":
        raise InputError(f"recipe.first: {first.recipe} is no classifier that is trained under noise: name one")
    return reduced_recipe(replace(named, data=recipe.data, held_out=recipe.held_out, seed=recipe.seed), first.scale)
