"""smoothcert recipes"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tyro.conf import Positional

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.noise import Noise


@dataclass(frozen=True)
class Recipes:
    """List the recipes whose name contains a text."""

    pattern: Positional[str] = ""
    """part of a name"""

    def __call__(self) -> None:
        from smoothcert.cli.display import print_table
        from smoothcert.recipes import RECIPES

        found = {name: recipe for name, recipe in RECIPES.items() if self.pattern in name}
        if not found:
            raise InputError(f"no recipe's name contains {self.pattern!r}: `smoothcert recipes` lists all")
        header = ["recipe", "data", "model", "noise", "m", "epochs"]
        rows = [
            [name, r.data, r.model, _noise(r.objective.noise), str(r.objective.m), str(r.epochs)]
            for name, r in found.items()
        ]
        print_table(header, rows)


def _noise(noise: Noise) -> str:
    return f"{type(noise).__name__} {noise.scale:g}"
