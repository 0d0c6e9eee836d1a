"""Recipes, and the names they are found by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fuzz.mutate import TEXT, with_json
from fuzz.readers.base import OWN, Reader, deep_texts
from smoothcert.errors import InputError
from smoothcert.recipes import RECIPES, to_dict, to_toml

NAMES = ("mnist/consistency/0.50", "cifar10/smoothadv/0.25", "mnist5k/gaussian/0.50", "mnist/macer/0.50")


def recipes() -> list[Any]:
    return [RECIPES[name] for name in (*NAMES, *RECIPES) if name in RECIPES][:6]


def toml_seeds() -> list[bytes]:
    return [to_toml(recipe).encode() for recipe in recipes()]


def json_seeds() -> list[bytes]:
    return [json.dumps(to_dict(recipe)).encode() for recipe in recipes()]


def run_recipe_hostile(seeds: list[bytes]) -> list[bytes]:
    """And run folders that name code of somebody's own, in each place."""
    values = to_dict(recipes()[0])
    objective, own = values["objective"], {"kind": OWN, "norm": 1, "scale": 0.5}
    places = [values | {"schedule": own}] + [
        values | {"objective": objective | part} for part in ({"noise": own}, {"attack": own}, {"terms": [own]})
    ]
    return [*deep_texts(seeds), *(json.dumps(each).encode() for each in places)]


def use_recipe(recipe: Any) -> object:
    """What follows the reading: numbers that a file may hold, but that would fail later, are refused as well."""
    factors = [recipe.schedule.factor(epoch, recipe.epochs) for epoch in (0, 0.5, 1, 7.25)]
    return to_toml(recipe), recipe.num_hyperparameters, factors, recipe.objective.at(3)


def read_recipe_file(path: Path) -> object:
    from smoothcert.recipes import find_recipe

    return use_recipe(find_recipe(str(path)))


def read_run_recipe(path: Path) -> object:
    from smoothcert.records.run_folder import RunFolder

    path.replace(path.parent / "recipe.json")
    folder = RunFolder(path.parent)
    try:
        folder.claim(RECIPES["mnist/consistency/0.50"])
    except InputError:
        use_recipe(folder.read_recipe())
        raise
    return folder


def name_seeds() -> list[bytes]:
    names = ("mnist/gaussian/0.50", "../../x", "/etc/passwd", "mnist/../../x", "mnist\\..\\x", "..", "mnist/*/0.50")
    settings = ("lr=0.02", "objective.lbd=10", "epochs=3", "attack=none", "model=cifar_resnet20")
    return [f"{name}\n{setting}".encode() for name in names for setting in settings]


def read_name(path: Path) -> object:
    """A recipe's name and a setting as on the command line; the folder of its run must be one below runs/."""
    from smoothcert.cli.options.variant import Variant
    from smoothcert.recipes import matching, override, real_name

    name, _, setting = path.read_bytes().decode("utf-8", "replace").partition("\n")
    recipe = RECIPES["mnist/gaussian/0.50"]
    variant = Variant(set=((setting,),))
    found = None
    for step in (real_name, matching):
        try:
            found = step(name)
        except InputError:
            continue
        if isinstance(found, str):
            folder = Path("runs") / variant.run_name(found, 0)
            if folder.parent != Path("runs") or folder.name in ("..", "."):
                raise RuntimeError(f"{folder} is not in runs")
    return override(recipe, (setting,)), found


JSON = with_json(json.loads, lambda value: json.dumps(value).encode())
READERS = (
    Reader("toml", ".toml", toml_seeds, read_recipe_file, TEXT, deep_texts, 3),
    Reader("json", ".json", json_seeds, read_recipe_file, (*(JSON,) * 6, *TEXT), deep_texts, 2),
    Reader("run-recipe", ".json", lambda: json_seeds()[:1], read_run_recipe, (*(JSON,) * 4, *TEXT),
           run_recipe_hostile, 1),
    Reader("recipe-name", "", name_seeds, read_name, TEXT, share=1),
)  # fmt: skip
