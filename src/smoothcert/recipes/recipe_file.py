"""A recipe as a file: TOML as people write it, or JSON as run folders hold it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files.reading import parse_json, read_bytes, shallow
from smoothcert.files.shown import shown
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.serialize import from_dict, to_dict

_LIMIT = 2**14  # bytes: a recipe has some twenty values; tomllib needs the square of a name's parts


def read_recipe(path: Path, opens: bool = False) -> Recipe:
    """With `opens` the code of parts of one's own is imported, else they stay `Unopened`."""
    text = bytes(read_bytes(path, _LIMIT))
    try:
        values = shallow(tomllib.loads(text.decode())) if path.suffix == ".toml" else parse_json(text.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as a recipe ({shown(str(error))})") from error
    try:
        return from_dict(values, opens)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def to_toml(recipe: Recipe) -> str:
    """Every value that decides the trained model, defaults included."""
    return "\n".join(_table(to_dict(recipe, full=True), "")) + "\n"


def _table(values: dict[str, Any], path: str) -> list[str]:
    """Plain values first: in TOML whatever follows a [header] belongs to it."""
    plain = {name: value for name, value in values.items() if value is not None and not _has_header(value)}
    lines = [f"{_key(name)} = {_value(value)}" for name, value in plain.items()]
    for name, value in values.items():
        where = f"{path}.{name}" if path else name
        if isinstance(value, dict):
            lines += ["", f"[{where}]", *_table(value, where)]
        elif _has_header(value):
            for part in value:
                lines += ["", f"[[{where}]]", *_table(part, where)]
    return lines


def _has_header(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _key(name: str) -> str:
    return name if name.isascii() else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # JSON's strings and booleans are TOML's too, and so are repr's numbers.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)
