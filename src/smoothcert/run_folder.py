"""The folder one training leaves behind."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files import write_atomically


@dataclass(frozen=True)
class RunFolder:
    """recipe.json says what is trained, checkpoint how far, train.jsonl how it went, model the finished weights."""

    path: Path

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.json"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    @property
    def model(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def training_log(self) -> Path:
        return self.path / "train.jsonl"

    @property
    def certification_log(self) -> Path:
        return self.path / "certify.jsonl"

    def claim(self, recipe: dict[str, Any]) -> None:
        """Write the recipe into a new folder, or check that the folder is this recipe's own."""
        if not self.recipe.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_atomically(self.recipe, json.dumps(recipe, indent=2).encode() + b"\n")
            return
        found = self.read_recipe()
        if found != recipe:
            raise InputError(
                f"{self.path}: holds a run of another recipe ({differences(found, recipe)}): choose another --out"
            )

    def read_recipe(self) -> Any:
        try:
            return json.loads(self.recipe.read_text())
        except FileNotFoundError:
            raise InputError(f"{self.path}: not a run folder (no {self.recipe.name})") from None
        except ValueError as error:
            raise InputError(f"{self.recipe}: not readable as JSON ({error})") from error


def differences(found: Any, wanted: Any, where: str = "") -> str:
    """The first few places where two descriptions differ: "lr: 0.1 there, 0.2 asked for"."""
    places = list(_differing(found, wanted, where))
    return "; ".join(places[:3]) + ("; …" if len(places) > 3 else "")


def _differing(found: Any, wanted: Any, where: str) -> Any:
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(found.keys() | wanted.keys()):
            yield from _differing(found.get(key), wanted.get(key), f"{where}.{key}" if where else str(key))
    elif found != wanted:
        yield f"{where}: {found} there, {wanted} asked for"
