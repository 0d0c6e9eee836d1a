"""A recipe from a file: JSON as run folders hold it, or TOML as people write it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from smoothcert.errors import InputError
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.serialize import from_dict
from smoothcert.records.reading import parse_json, read_bytes, shallow, shown

_LIMIT = 2**14  # bytes: a recipe has some twenty values; tomllib needs the square of a name's parts


def read_recipe(path: Path) -> Recipe:
    try:
        text = read_bytes(path, _LIMIT).decode()
        values = shallow(tomllib.loads(text)) if path.suffix == ".toml" else parse_json(text)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as a recipe ({shown(str(error))})") from error
    try:
        return from_dict(values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
