"""A recipe from a file: JSON as run folders hold it, or TOML as people write it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from smoothcert.errors import InputError
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.serialize import from_dict


def read_recipe(path: Path) -> Recipe:
    try:
        text = path.read_text()
        values = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as a recipe ({error})") from error
    try:
        return from_dict(values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
