"""Recipe ⇄ plain dictionaries, for the files a run leaves behind."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from smoothcert.attacks import ATTACKS
from smoothcert.errors import InputError, did_you_mean
from smoothcert.noise import NOISES, Noise
from smoothcert.objectives import TERMS, Objective
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.schedule import SCHEDULES
from smoothcert.records.reading import shown

# Fields younger than runs in use, and what those had: left out at that value, so that such a run is still its recipe's.
_UNSAID = {"damping": "image", "normalization": "standard"}


def to_dict(value: Any, full: bool = False) -> Any:
    """Dataclasses become dictionaries; those chosen by name carry it as `kind`, and what is None is left out.

    So are fields that older files do not have, at the value that their absence means; `full` has them too.
    """
    if isinstance(value, tuple):
        return [to_dict(v, full) for v in value]
    if isinstance(value, int | float | str):
        return value
    kind = {} if isinstance(value, Recipe | Objective) else {"kind": _name_of(value)}
    given = {f.name: getattr(value, f.name) for f in fields(value)}
    unsaid = {} if full else _UNSAID
    said = {name: part for name, part in given.items() if part is not None and part != unsaid.get(name)}
    return kind | {name: to_dict(part, full) for name, part in said.items()}


def _name_of(part: Any) -> str:
    """Under which it is listed, also since this was imported. Without it nobody could read it back."""
    for kinds in (NOISES, TERMS, ATTACKS, SCHEDULES):
        for name, kind in kinds.items():
            if type(part) is kind and is_dataclass(part):
                return name
    name = type(part).__name__
    raise InputError(
        f"{name} has no name in recipes: list it as a dataclass, such as "
        f'smoothcert.objectives.TERMS["{name.lower()}"] = {name}, before it is trained'
    )


def from_dict(values: dict[str, Any]) -> Recipe:
    """The recipe that `to_dict` wrote; anything else is refused with the name of the first wrong field."""
    given = _table(values, "recipe")
    objective = _table(given.pop("objective", None), "recipe.objective")
    noise = _of_kind(objective.pop("noise", None), NOISES, "recipe.objective.noise")
    terms = objective.pop("terms", None)
    if not isinstance(terms, list):
        raise InputError("recipe.objective.terms must be a list")
    objective["terms"] = tuple(_of_kind(t, TERMS, "recipe.objective.terms") for t in terms)
    if objective.get("attack") is not None:
        objective["attack"] = _of_kind(objective["attack"], ATTACKS, "recipe.objective.attack")
    given["objective"] = _build(Objective, objective | {"noise": noise}, "recipe.objective")
    given["schedule"] = _of_kind(given.pop("schedule", None), SCHEDULES, "recipe.schedule")
    return _build(Recipe, given, "recipe")


def noise_from_dict(values: Any) -> Noise:
    noise: Noise = _of_kind(values, NOISES, "noise")
    return noise


def _of_kind(values: Any, kinds: dict[str, Any], where: str) -> Any:
    table = _table(values, where)
    kind = table.pop("kind", None)
    name = kind[:80] if isinstance(kind, str) else ""
    if name != kind or name not in kinds:
        raise InputError(f"{where}: unknown kind {shown(kind)}{did_you_mean(name, kinds)}")
    return _build(kinds[kind], table, where)


def _table(values: Any, where: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise InputError(f"{where} is missing or not a table")
    return dict(values)


def _build(kind: type, values: dict[str, Any], where: str) -> Any:
    known = {f.name: f for f in fields(kind)}
    for name, value in values.items():
        if name not in known:
            raise InputError(f"{where}: unknown field {shown(name)}{did_you_mean(name[:80], known)}")
        values[name] = _typed(value, str(known[name].type), f"{where}.{name}")
    for name, field in known.items():
        if name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise InputError(f"{where}: {name} is missing")
    return kind(**values)


def _typed(value: Any, wanted: str, where: str) -> Any:
    """Numbers arrive from JSON and TOML as int where a float is meant, and wrong types must not reach the training."""
    if type(value) is int and not abs(value) < 2**53:
        raise InputError(f"{where} is too large a number: {shown(value)}")
    if wanted == "float" and type(value) is int:
        return float(value)
    plain = {"int": int, "float": float, "bool": bool, "str": str}.get(wanted)
    if plain is not None and (not isinstance(value, plain) or (plain is int and isinstance(value, bool))):
        raise InputError(f"{where} must be of type {wanted}, not {shown(value)}")
    return value
