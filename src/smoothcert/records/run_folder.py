"""The folder one training leaves behind."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from smoothcert.errors import InputError
from smoothcert.files.shown import differences
from smoothcert.files.writing import write_atomically
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.recipe_file import read_recipe
from smoothcert.recipes.serialize import to_dict


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
    def first(self) -> Path:
        """run folder of the first network, where the recipe has one"""
        return self.path / "first"

    @property
    def first_votes(self) -> Path:
        """and its votes on the training images"""
        return self.path / "first-votes.safetensors"

    @property
    def certification_log(self) -> Path:
        return self.path / "certify.jsonl"

    @property
    def cannot_go_on(self) -> bool:
        """Whether something was trained here and no checkpoint of it is left, as in a published run."""
        return any(file.exists() for file in (self.training_log, self.model)) and not any(
            self.path.glob(f"{self.checkpoint.stem}*{self.checkpoint.suffix}")
        )

    def claim(self, recipe: Recipe) -> None:
        """Write the recipe into a new folder, or check that the folder is this recipe's own."""
        if not self.recipe.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_atomically(self.recipe, json.dumps(to_dict(recipe), indent=2).encode() + b"\n")
        elif (found := self.read_recipe()) != recipe:
            if replace(found, sources=recipe.sources) == recipe:
                changed = " and ".join(s.module for s in recipe.sources or () if s not in (found.sources or ()))
                raise InputError(
                    f"{self.path}: {changed} has changed since this training began, and would go on with another loss "
                    "or network: undo that, or choose another --out"
                )
            said = differences(to_dict(found), to_dict(recipe))
            raise InputError(f"{self.path}: holds a run of another recipe ({said}): choose another --out")

    def read_recipe(self) -> Recipe:
        if not self.recipe.exists():
            raise InputError(f"{self.path}: not a run folder (no {self.recipe.name})")
        return read_recipe(self.recipe)
