"""A trained run as the classifier f that is certified."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert import models
from smoothcert.errors import InputError
from smoothcert.models.weights import digest, load_weights
from smoothcert.recipes import Recipe, from_dict
from smoothcert.run_folder import RunFolder


@dataclass(frozen=True)
class OpenedRun:
    """Recipe and weights; `about` is what a certificate says of them."""

    name: str
    folder: RunFolder
    recipe: Recipe
    num_classes: int
    weights: dict[str, Tensor]
    about: dict[str, Any]

    def network(self, device: torch.device) -> nn.Module:
        """f in eval mode, frozen, in its fast memory layout."""
        f = models.build(self.recipe.model, self.num_classes)
        try:
            f.load_state_dict(self.weights)
        except RuntimeError as error:
            problem = " ".join(str(error).split())
            raise InputError(f"{self.folder.model}: does not fit the model {self.recipe.model}: {problem}") from error
        f = f.to(device, memory_format=getattr(f, "memory_format", torch.contiguous_format))  # type: ignore[call-overload]
        return f.eval().requires_grad_(False)


def open_run(path: Path) -> OpenedRun:
    """A run folder whose training is finished, or its weights file."""
    if not path.exists():
        raise InputError(f"{path}: no such run: see `smoothcert train --help`")
    folder = RunFolder(path if path.is_dir() else path.resolve().parent)
    file = folder.model if path.is_dir() else path
    if path.is_dir() and not file.exists():
        if folder.recipe.exists():
            raise InputError(f"{path}: its training is not finished: give the same `smoothcert train` command again")
        raise InputError(f"{path}: not a run folder (no {file.name})")
    weights, about = load_weights(file)
    if not isinstance(about, dict) or not {"recipe", "num_classes"} <= about.keys():
        raise InputError(f"{file}: holds no finished model (a checkpoint of a training?)")
    name = folder.path.resolve().name
    described = {"recipe": about["recipe"], "model_sha256": digest(weights)}
    return OpenedRun(name, folder, from_dict(about["recipe"]), about["num_classes"], weights, described)
