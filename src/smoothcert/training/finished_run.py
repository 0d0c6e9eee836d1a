"""A finished training, opened for its weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from smoothcert.errors import InputError
from smoothcert.interchange.weights import digest, load_weights, require_model
from smoothcert.records.run_folder import RunFolder


@dataclass(frozen=True)
class FinishedRun:
    path: Path
    weights: dict[str, Tensor]
    about: dict[str, Any]
    """what model.safetensors says of itself: model, num_classes, normalization and more"""
    sha256: str

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.path if self.path.is_dir() else self.path.resolve().parent)


def read_finished(path: Path) -> FinishedRun:
    """Of a run folder, or of its weights file; InputError where nothing is finished there. No code of it is run."""
    file = RunFolder(path).model if path.is_dir() else path
    if not file.exists():
        if path.is_dir() and RunFolder(path).recipe.exists():
            raise InputError(f"{path}: has no {file.name}: its training is not finished, or its weights were not kept")
        raise InputError(f"{path}: not a run folder, nor a file of weights")
    weights, about = load_weights(file)
    require_model(file, about)
    return FinishedRun(path, weights, about, digest(weights))
