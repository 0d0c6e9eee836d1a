"""Values of a JSON or TOML file → frozen dataclasses, by the type hints of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.shown import shown
from smoothcert.files.source import is_spec

Kinds = Mapping[Any, Mapping[Any, Any]]
Own = Callable[[Any, str, Mapping[str, Any], str], Any]
_PLAIN = (int, float, bool, str)


def structure(wanted: Any, value: Any, where: str, kinds: Kinds, own: Own | None = None) -> Any:
    """`value` as a `wanted`: a plain type, X | None, tuple[X, ...], a dataclass, or a protocol that `kinds` knows.

    Args:
        wanted: a type as it stands in a hint
        value: as json or tomllib gives it
        where: what an error calls it, such as recipe.objective
        kinds: for a protocol the dataclasses that a table may name as its `kind`: {Noise: {"gaussian": Gaussian}};
            what stands under None needs none
        own: makes (protocol, package.module:Name, fields, where) what a `kind` of this form stands for; None: nothing

    Returns:
        the value; whatever has another type, an unknown name or a field missing raises InputError

    Example:
        >>> from smoothcert.noise import NOISES, Noise
        >>> structure(Noise, {"kind": "gaussian", "sigma": 1}, "noise", {Noise: NOISES})
        Gaussian(sigma=1.0)
    """
    if isinstance(wanted, UnionType):
        if value is None:
            return None
        wanted = next(part for part in get_args(wanted) if part is not NoneType)
    if type(value) is int and not abs(value) < 2**53:  # a float would not hold it, nor would torch
        raise InputError(f"{where} is too large a number: {shown(value)}")
    if wanted is float and type(value) is int:  # 1 where 1.0 is meant
        return float(value)
    if wanted in _PLAIN and type(value) is not wanted:
        raise InputError(f"{where} must be of type {wanted.__name__}, not {shown(value)}")
    if get_origin(wanted) is tuple:
        if not isinstance(value, list | tuple):
            raise InputError(f"{where} must be a list, not {shown(value)}")
        return tuple(structure(get_args(wanted)[0], part, where, kinds, own) for part in value)
    if get_origin(wanted) is Mapping:
        return require_table(value, where)
    if not (wanted in kinds or is_dataclass(wanted)):
        return value
    given = require_table(value, where)
    if wanted not in kinds:
        return built(wanted, given, where, kinds, own)
    kind = given.pop("kind", None)
    if own is not None and is_spec(kind):
        return own(wanted, kind, given, where)
    if not isinstance(kind, str | None) or kind not in kinds[wanted]:
        names = [name for name in kinds[wanted] if name is not None]
        raise InputError(f"{where}: unknown kind {shown(kind)}{did_you_mean(str(kind)[:80], names)}")
    return built(kinds[wanted][kind], given, where, kinds, own)


def require_table(values: Any, where: str) -> dict[str, Any]:
    """A copy of what must be a JSON object or a TOML table."""
    if not isinstance(values, dict):
        raise InputError(f"{where} must be a table, not {shown(values)}")
    return dict(values)


def built(kind: Any, given: Mapping[str, Any], where: str, kinds: Kinds, own: Own | None = None) -> Any:
    """The dataclass with these fields and no others, each of its type."""
    known, hints = {field.name: field for field in fields(kind)}, get_type_hints(kind)
    for name in given:
        if name not in known:
            raise InputError(f"{where}: unknown field {shown(name)}{did_you_mean(name[:80], known)}")
    for name, field in known.items():
        if name not in given and field.default is MISSING and field.default_factory is MISSING:
            raise InputError(f"{where}: {name} is missing")
    values = {name: structure(hints[name], value, f"{where}.{name}", kinds, own) for name, value in given.items()}
    return kind(**values)
