"""Single values of a recipe set from the command line: lr=0.02, objective.lbd=10."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.shown import shown
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.serialize import from_dict, to_dict

_MAY_BE_MISSING = {"starts_from", "sha256"}
_ELSEWHERE = {"seed": "--seed", "reduced": "--scale", "fraction": "--scale", "init": "--init"}


def override(recipe: Recipe, settings: Iterable[str]) -> Recipe:
    """The recipe with PATH=VALUE applied, all together, and checked as any recipe file is.

    A path may leave out what is plain: `lbd` and `objective.lbd` are `objective.terms.consistency.lbd` where
    consistency alone has a λ. VALUE is a TOML value, and words need no quotes; `none` takes an attack away.
    """
    values = to_dict(recipe, full=True)
    sources = values.pop("sources")  # nothing that one sets
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path.strip() or not text.strip():
            raise InputError(f"--set takes PATH=VALUE, such as lr=0.02, not {shown(setting)}")
        _set(values, path.strip(), _value(text.strip()))
    return from_dict(values | {"sources": sources}, opens=True)


def _set(values: dict[str, Any], path: str, value: Any) -> None:
    if path in _ELSEWHERE:
        raise InputError(f"--set: {path} is chosen with {_ELSEWHERE[path]}")
    table, name = _place(values, path)
    if value is not None:
        table[name] = value
    elif isinstance(table.get(name), str) and name not in _MAY_BE_MISSING:
        table[name] = "none"  # a word like others where words are meant
    else:
        table.pop(name, None)


def _place(values: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The table that holds the value, and its name there."""
    places, wanted = dict(_places(values)), path.split(".")
    found = [full for full in places if full == path] or [full for full in places if _abbreviates(wanted, full)]
    if not found:
        names = dict.fromkeys(full.rpartition(".")[2] for full in places)
        raise InputError(f"--set: the recipe has no {shown(path)}{did_you_mean(wanted[-1][:80], names)}")
    if len(found) > 1:
        raise InputError(f"--set: {path!r} could be {' or '.join(found)}: write more of it")
    return places[found[0]], found[0].rpartition(".")[2]


def _places(table: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """(path, table that holds it) of every value; terms go by their kind, for there is one of each."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield f"{path}{name}", table
            yield from _places(value, f"{path}{name}.")
        elif isinstance(value, list):
            yield f"{path}{name}", table
            for part in value:
                if isinstance(part, dict):
                    yield from _places(part, f"{path}{name}.{str(part.get('kind')).rpartition(':')[2]}.")
        elif name != "kind" and f"{path}{name}" not in _ELSEWHERE:
            yield f"{path}{name}", table


def _abbreviates(wanted: list[str], full: str) -> bool:
    """The same last name, and what stands before it in the same order."""
    parts = full.split(".")
    rest = iter(parts[:-1])
    return parts[-1] == wanted[-1] and all(word in rest for word in wanted[:-1])


def _value(text: str) -> Any:
    if text.lower() == "none":
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:  # no TOML: a word, or a number of more digits than Python reads
        return text
    except RecursionError:
        raise InputError(f"--set: {shown(text)} is nested too deep") from None
