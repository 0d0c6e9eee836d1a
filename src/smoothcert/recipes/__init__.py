"""Recipes by name: all that decides a trained model, as values. Nothing here runs anything."""

from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from smoothcert.errors import InputError
from smoothcert.files.shown import shown
from smoothcert.paper import Row, rows
from smoothcert.recipes import (
    after2020,
    best_mnist,
    demo,
    denoisers,
    fashion_mnist,
    fast_cifar10,
    fast_mnist,
    jeong2020_ablation,
    jeong2020_cifar10,
    jeong2020_imagenet,
    jeong2020_mnist,
    photographs,
)
from smoothcert.recipes.certification import Certification, certification_of
from smoothcert.recipes.easy_images import EasyImages
from smoothcert.recipes.first_network import FirstNetwork
from smoothcert.recipes.init import Init
from smoothcert.recipes.muon import Muon
from smoothcert.recipes.override import override
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.recipe_file import read_recipe, to_toml
from smoothcert.recipes.reduced import reduced_certification, reduced_recipe
from smoothcert.recipes.sampler import Sampler
from smoothcert.recipes.schedule import LinearDecay, Schedule, StepDecay, Trapezoid
from smoothcert.recipes.serialize import from_dict, to_dict

RECIPES: dict[str, Recipe] = {
    **demo.RECIPES,
    **fast_mnist.RECIPES,
    **fashion_mnist.RECIPES,
    **fast_cifar10.RECIPES,
    **denoisers.RECIPES,
    **jeong2020_mnist.RECIPES,
    **jeong2020_ablation.RECIPES,
    **jeong2020_cifar10.RECIPES,
    **jeong2020_imagenet.RECIPES,
    **best_mnist.RECIPES,
    **after2020.RECIPES,
    **photographs.RECIPES,
}
# A second name of the same recipe: its runs go by the first.
ALIASES: dict[str, str] = {**jeong2020_ablation.ALIASES, **jeong2020_cifar10.ALIASES}
ALIASES |= {f"{alias}/text": f"{name}/text" for alias, name in ALIASES.items()}

_LONGEST_PATTERN = 200  # letters: no name has as many
_LISTED = "`smoothcert recipes` lists all"


def find_recipe(name: str) -> Recipe:
    """The recipe of that name, or the one in that .json or .toml file.

    Terms, attacks, noises and schedules that a file names as package.module:Name are imported, so their code runs.

    Args:
        name: as `smoothcert recipes` lists them, or a path

    Returns:
        all that decides a trained model, as a frozen value

    Example:
        >>> find_recipe("mnist/consistency/0.50").epochs
        90
    """
    if name.endswith((".json", ".toml")):
        return read_recipe(Path(name), opens=True)
    return listed_recipe(name)


def listed_recipe(name: str) -> Recipe:
    """The recipe of that name, which is never a path: for names that a file or a log says, which must run no code."""
    return RECIPES[real_name(name)]


def real_name(name: str) -> str:
    """The name that a name or an alias stands for."""
    if name in RECIPES or name in ALIASES:
        return ALIASES.get(name, name)
    close = get_close_matches(name[:80], [*RECIPES, *ALIASES], n=1, cutoff=0.5)
    raise InputError(f"unknown recipe {shown(name)}: " + (f"did you mean {close[0]}?" if close else _LISTED))


def matching(pattern: str) -> list[str]:
    """Names and aliases that are the pattern, or else match it as a glob (`mnist/*/0.50`), or else contain it.

    The twins that follow the text are meant only where the pattern says so: they would double every table.
    """
    if pattern in RECIPES or pattern in ALIASES:
        return [pattern]
    names = [name for name in (*RECIPES, *ALIASES) if "text" in pattern or not name.endswith("/text")]
    names = names if len(pattern) <= _LONGEST_PATTERN else []
    found = [name for name in names if fnmatchcase(name, pattern)] or [name for name in names if pattern in name]
    if not found:
        raise InputError(f"no recipe's name contains {shown(pattern)}: {_LISTED}")
    return found


def printed_rows(name: str) -> tuple[Row, ...]:
    """The rows of the paper that this recipe is to reproduce; a `…/text` one those of its twin."""
    wanted = ALIASES.get(name, name).removesuffix("/text")
    return tuple(row for row in rows() if wanted in (ALIASES.get(other, other) for other in row.recipes))


def published_acr(name: str) -> dict[str, float]:
    """The printed ACR of the rows that this recipe is to reproduce, or of the method's own paper."""
    if name in after2020.PUBLISHED:
        return {"its paper": after2020.PUBLISHED[name]}
    return {row.name: row.acr for row in printed_rows(name)}


__all__ = [
    "ALIASES",
    "RECIPES",
    "Certification",
    "EasyImages",
    "FirstNetwork",
    "Init",
    "LinearDecay",
    "Muon",
    "Recipe",
    "Sampler",
    "Schedule",
    "StepDecay",
    "Trapezoid",
    "certification_of",
    "find_recipe",
    "from_dict",
    "listed_recipe",
    "matching",
    "override",
    "printed_rows",
    "published_acr",
    "real_name",
    "reduced_certification",
    "reduced_recipe",
    "to_dict",
    "to_toml",
]
