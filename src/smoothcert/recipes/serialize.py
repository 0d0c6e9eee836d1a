"""Recipe ⇄ plain dictionaries, for the files a run leaves behind."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from smoothcert.attacks import ATTACKS
from smoothcert.errors import InputError
from smoothcert.noise import NOISES, Noise
from smoothcert.objectives import TERMS, Attack, Objective, Term
from smoothcert.recipes.muon import Muon
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import SCHEDULES, Schedule
from smoothcert.recipes.structure import Kinds, structure

KINDS: Kinds = {Noise: NOISES, Term: TERMS, Attack: ATTACKS, Schedule: SCHEDULES}
"""what a recipe holds by name"""
# Fields younger than runs in use, and what those had.
_UNSAID = {"damping": "image", "normalization": "standard", "precision": "float32", "ramp": 0.0}


def to_dict(value: Any, full: bool = False) -> Any:
    """Dataclasses become dictionaries; those chosen by name carry it as `kind`.

    Left out is what is None, and a field that older files do not have at the value that its absence means: a run in
    use is still its recipe's. With `full` every field is there.
    """
    if isinstance(value, tuple):
        return [to_dict(v, full) for v in value]
    if isinstance(value, int | float | str | None):
        return value
    kind = {} if isinstance(value, Recipe | Objective | Muon) else {"kind": _name_of(value)}
    given = {f.name: getattr(value, f.name) for f in fields(value)}
    said = {name: part for name, part in given.items() if full or part != _UNSAID.get(name)}
    return kind | {name: to_dict(part, full) for name, part in said.items()}


def _name_of(part: Any) -> str:
    """Under which it is listed, also since this was imported. Without it nobody could read it back."""
    for named in KINDS.values():
        for name, kind in named.items():
            if type(part) is kind and is_dataclass(part):
                return name
    name = type(part).__name__
    raise InputError(
        f"{name} has no name in recipes: list it as a dataclass, such as "
        f'smoothcert.objectives.TERMS["{name.lower()}"] = {name}, before it is trained'
    )


def from_dict(values: Any) -> Recipe:
    """The recipe that `to_dict` wrote; anything else is refused with the name of the first wrong field."""
    recipe: Recipe = structure(Recipe, values, "recipe", KINDS)
    return recipe


def noise_from_dict(values: Any) -> Noise:
    noise: Noise = structure(Noise, values, "noise", KINDS)
    return noise
