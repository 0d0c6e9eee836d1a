"""Recipe → TOML, as people read and write it. `file.read_recipe` reads it back."""

from __future__ import annotations

import json
from typing import Any

from smoothcert.recipes.base import Recipe
from smoothcert.recipes.serialize import to_dict


def to_toml(recipe: Recipe) -> str:
    """Every value that decides the trained model, defaults included."""
    return "\n".join(_table(to_dict(recipe, full=True), "")) + "\n"


def _table(values: dict[str, Any], path: str) -> list[str]:
    """Plain values first: in TOML whatever follows a [header] belongs to it."""
    lines = [f"{name} = {_value(value)}" for name, value in values.items() if not isinstance(value, dict | list)]
    for name, value in values.items():
        where = f"{path}.{name}" if path else name
        if isinstance(value, dict):
            lines += ["", f"[{where}]", *_table(value, where)]
        elif isinstance(value, list):
            for part in value:
                lines += ["", f"[[{where}]]", *_table(part, where)]
    return lines


def _value(value: Any) -> str:
    # JSON's strings and booleans are TOML's too, and so are repr's numbers.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)
