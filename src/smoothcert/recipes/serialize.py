"""Recipe ⇄ plain dictionaries, for the files a run leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from smoothcert.attacks import ATTACKS
from smoothcert.errors import InputError
from smoothcert.files.shown import one_line, shown
from smoothcert.files.source import imported, is_spec, spec_of
from smoothcert.noise import NOISES, Noise
from smoothcert.objectives import GOALS, TERMS, Attack, Goal, Objective, Term
from smoothcert.recipes.easy_images import EasyImages
from smoothcert.recipes.first_network import FirstNetwork
from smoothcert.recipes.init import Init
from smoothcert.recipes.muon import Muon
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.sampler import Sampler
from smoothcert.recipes.schedule import SCHEDULES, Schedule
from smoothcert.recipes.source import Source
from smoothcert.recipes.structure import Kinds, built, structure
from smoothcert.recipes.unopened import Unopened

SAMPLERS: dict[str, type[Sampler]] = {"easy_images": EasyImages}
KINDS: Kinds = {Noise: NOISES, Term: TERMS, Attack: ATTACKS, Schedule: SCHEDULES, Sampler: SAMPLERS, Goal: GOALS}
"""what a recipe holds by name"""
# Fields younger than runs in use, and what those had.
_UNSAID = {"damping": "image", "normalization": "standard", "precision": "float32", "ramp": 0.0}
_NEEDS = {
    Noise: ("norm", "scale", "fill", "sample_like", "radius", "radius_from_error"),
    Term: ("__call__",),
    Attack: ("__call__",),
    Schedule: ("factor",),
    Sampler: ("draws_to_drop", "draws_to_weigh", "keeps", "weights"),
}
_NAMELESS = (Recipe, Objective, Muon, Source, FirstNetwork, Init)  # where there is one kind only
_NORMS = (1, 2)
_MOST = 2**53  # a larger whole number is no float


def to_dict(value: Any, full: bool = False) -> Any:
    """Dataclasses become dictionaries; those chosen by name carry it as `kind`.

    Left out is what is None, and a field that older files do not have at the value that its absence means: a run in
    use is still its recipe's. With `full` every field is there.
    """
    if isinstance(value, tuple):
        return [to_dict(v, full) for v in value]
    if isinstance(value, int | float | str | None):
        return value
    if isinstance(value, Unopened):
        return {"kind": value.kind, **value.values}
    kind = {} if isinstance(value, _NAMELESS) else {"kind": kind_of(value)}
    if is_spec(kind.get("kind")):
        return kind | _fields_of_own(kind["kind"], value)
    given = {f.name: getattr(value, f.name) for f in fields(value)}
    said = {name: part for name, part in given.items() if full or part != _UNSAID.get(name)}
    return kind | {name: to_dict(part, full) for name, part in said.items()}


def kind_of(part: Any) -> str:
    """Under which it is listed, also since this was imported, or package.module:Name of a class of one's own."""
    if isinstance(part, Unopened):
        return part.kind
    for named in KINDS.values():
        for name, kind in named.items():
            if type(part) is kind and is_dataclass(part) and name is not None:
                return str(name)
    name, spec = type(part).__name__, spec_of(type(part))
    if not is_dataclass(part):
        raise InputError(f"{name} has no name in recipes: make it a class with @dataclass(frozen=True)")
    if not getattr(part, "__dataclass_params__").frozen:  # noqa: B009
        raise InputError(f"{name} could change while it trains: make it @dataclass(frozen=True)")
    if spec is None:
        raise InputError(
            f"{name} has no name in recipes by which it could be found again: "
            "put it at the top of a file, such as own.py, and import it from there (again, if that was reloaded)"
        )
    return spec


def _fields_of_own(spec: str, part: Any) -> dict[str, Any]:
    """All that it has, save None by default; and of a noise its norm, for those who do not import it."""
    given = {
        f.name: getattr(part, f.name)
        for f in fields(part)
        if f.default is not None or getattr(part, f.name) is not None
    }
    if hasattr(part, "radius_from_error"):
        if part.norm not in _NORMS:
            raise InputError(f"{spec}: certificates are in ℓ₁ or ℓ₂, so that norm is 1 or 2, not {shown(part.norm)}")
        given = {"norm": part.norm} | given
    _require_plain(spec, given)
    return {name: to_dict(value) for name, value in given.items()}


def _require_plain(spec: str, given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        each = value if isinstance(value, tuple | list) else (value,)
        plain = all(isinstance(v, float | str) or (isinstance(v, int) and abs(v) < _MOST) for v in each)
        if name == "kind" or not name.isidentifier() or not plain:
            raise InputError(f"{spec}: {shown(name)} cannot be written: fields are numbers, texts or tuples of these")


def from_dict(values: Any, opens: bool = False) -> Recipe:
    """The recipe that `to_dict` wrote; anything else is refused with the name of the first wrong field.

    With `opens` the code of parts of one's own is imported, else they stay `Unopened`.
    """
    recipe: Recipe = structure(Recipe, values, "recipe", KINDS, _opened if opens else kept)
    return recipe


def noise_from_dict(values: Any, opens: bool = False) -> Noise:
    noise: Noise = structure(Noise, values, "noise", KINDS, _opened if opens else kept)
    return noise


def own_noise(spec: str, scale: float) -> Noise:
    """The noise of one's own with this scale, which is its only parameter."""
    noise: Noise = _made(partial(_class(spec, Noise, "noise"), scale), spec)
    return noise


def kept(wanted: Any, spec: str, given: Mapping[str, Any], where: str) -> Unopened:
    """A part of one's own that is read and not run."""
    _require_kind(wanted, spec, where)
    if wanted is Noise and given.get("norm") not in _NORMS:
        raise InputError(f"{where}: {shown(spec)} does not say its norm, 1 or 2")
    _require_plain(f"{where}: {spec}", given)
    return Unopened(spec, dict(given))


def _opened(wanted: Any, spec: str, given: Mapping[str, Any], where: str) -> Any:
    """A part of one's own, imported."""
    _require_kind(wanted, spec, where)
    kind, values = _class(spec, wanted, where), dict(given)
    is_said = wanted is Noise and "norm" in values and "norm" not in {field.name for field in fields(kind)}
    norm = values.pop("norm") if is_said else None
    part = _made(partial(built, kind, values, where, KINDS, _opened), f"{where}: {spec}")
    if is_said and norm != part.norm:
        raise InputError(f"{where}: {spec} has norm {shown(part.norm)}, not {shown(norm)}")
    return part


def _require_kind(wanted: Any, spec: str, where: str) -> None:
    if wanted not in _NEEDS:
        names = ", ".join(name for name in KINDS[wanted] if name is not None)
        raise InputError(f"{where}: {shown(spec)} cannot be one's own: its kind is one of {names}, or not said")


def _class(spec: str, wanted: Any, where: str) -> Any:
    kind = imported(spec)
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise InputError(f"{where}: {spec} must be a class with @dataclass(frozen=True)")
    known = {name for base in kind.__mro__ for name in vars(base)} | {field.name for field in fields(kind)}
    missing = [name for name in _NEEDS[wanted] if name not in known]
    if missing:
        raise InputError(f"{where}: {spec} is no {wanted.__name__.lower()}: it has no {', '.join(missing)}")
    return kind


def _made(make: partial[Any], where: str) -> Any:
    try:
        return make()
    except InputError:
        raise
    except Exception as error:  # somebody's own class can raise anything
        raise InputError(f"{where}: {one_line(error)}") from error
