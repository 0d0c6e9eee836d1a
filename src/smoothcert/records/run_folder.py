"""The folder one training leaves behind."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.records.files import write_atomically
from smoothcert.records.reading import parse_json, read_bytes, shown

_LIMIT = 2**14  # bytes: a recipe has some twenty values


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

    @property
    def cannot_go_on(self) -> bool:
        """Whether something was trained here and no checkpoint of it is left, as in a published run."""
        return any(file.exists() for file in (self.training_log, self.model)) and not any(
            self.path.glob(f"{self.checkpoint.stem}*")
        )

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
        if not self.recipe.exists():
            raise InputError(f"{self.path}: not a run folder (no {self.recipe.name})")
        try:
            return parse_json(read_bytes(self.recipe, _LIMIT))
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.recipe}: not readable as JSON ({error})") from error


def differences(found: Any, wanted: Any, words: tuple[str, str] = ("there", "asked for")) -> str:
    """The first few places where two descriptions differ: "lr: 0.1 there, 0.2 asked for"."""
    places = [
        f"{shown(where)[1:-1]}: {_plain(one)} {words[0]}, {_plain(other)} {words[1]}"
        for where, one, other in _differing(found, wanted, "")
    ]
    return "; ".join(places[:3]) + ("; …" if len(places) > 3 else "")


def _differing(found: Any, wanted: Any, where: str) -> Any:
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(found.keys() | wanted.keys()):
            yield from _differing(found.get(key), wanted.get(key), f"{where}.{key}" if where else str(key))
    elif found != wanted:
        yield where, found, wanted


def _plain(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() and len(value) <= 80 else shown(value)
