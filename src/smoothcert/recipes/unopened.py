"""A term, attack, noise or schedule of one's own as a file names it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, NoReturn

from smoothcert.errors import InputError


@dataclass(frozen=True, eq=False)
class Unopened:
    """It stands where the part would stand, can be shown, compared and written again, and does nothing.

    Whoever reads a log or a run folder gets this: the code it names is not imported, for it may be anybody's.
    """

    kind: str
    """package.module:Name"""
    values: Mapping[str, Any]

    def __eq__(self, other: object) -> bool:
        """A part that was imported is equal to what would be written of it."""
        from smoothcert.recipes.serialize import to_dict

        if isinstance(other, Unopened):
            return self.kind == other.kind and self.values == other.values
        try:
            return is_dataclass(other) and bool(to_dict(other) == to_dict(self))
        except InputError:  # nothing would be written
            return False

    __hash__ = None  # type: ignore[assignment]

    @property
    def called(self) -> str:
        return self.kind.rpartition(":")[2]

    @property
    def knobs(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def norm(self) -> Any:
        """Of a noise; `to_dict` writes it down."""
        return self.values.get("norm")

    @property
    def scale(self) -> float:
        """Of a noise, whose only parameter it is."""
        numbers = (value for name, value in self.values.items() if name != "norm" and isinstance(value, int | float))
        return next(map(float, numbers), math.nan)

    def _does_nothing(self, *_: object, **__: object) -> NoReturn:
        raise InputError(f"{self.kind} is code of somebody's own, which reading does not import")

    draws_to_drop = draws_to_weigh = keeps = weights = _does_nothing
    __call__ = factor = fill = sample_like = radius = radius_from_error = _does_nothing
