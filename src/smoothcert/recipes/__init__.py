"""Recipes by name: all that decides a trained model, as values. Nothing here runs anything."""

from pathlib import Path

from smoothcert.errors import InputError, did_you_mean
from smoothcert.recipes import demo, jeong2020_mnist
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.file import read_recipe
from smoothcert.recipes.schedule import Schedule, StepDecay
from smoothcert.recipes.serialize import from_dict, to_dict
from smoothcert.recipes.settings import Settings, follows

RECIPES: dict[str, Recipe] = {**demo.RECIPES, **jeong2020_mnist.RECIPES}


def find(name: str) -> Recipe:
    """The recipe of that name, or the one in that .json or .toml file."""
    if name in RECIPES:
        return RECIPES[name]
    if name.endswith((".json", ".toml")):
        return read_recipe(Path(name))
    raise InputError(f"unknown recipe {name!r}{did_you_mean(name, RECIPES)}")


__all__ = [
    "RECIPES",
    "Recipe",
    "Schedule",
    "Settings",
    "StepDecay",
    "find",
    "follows",
    "from_dict",
    "to_dict",
]
