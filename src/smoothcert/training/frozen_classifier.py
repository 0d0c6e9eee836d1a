"""The classifier that a denoiser is trained for."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn

from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.files.shown import shown
from smoothcert.files.source import is_spec
from smoothcert.interchange.foreign_model import open_model
from smoothcert.models import build, frozen
from smoothcert.models.network import declared
from smoothcert.objectives import Charging, Denoising, Through
from smoothcert.recipes import Recipe
from smoothcert.training.finished_run import read_finished
from smoothcert.training.learner import in_precision


@dataclass(frozen=True)
class FrozenClassifier:
    """F, which is not trained, and the SHA-256 of its weights, or of its file."""

    f: nn.Module
    sha256: str

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe with this classifier; InputError where it takes none, or has another."""
        goal = recipe.objective
        if not isinstance(goal, Denoising) or not goal.stability:
            raise InputError("the recipe charges nothing through a classifier: leave --classifier out")
        if goal.classifier not in (None, self.sha256):
            raise InputError(
                f"the recipe's classifier has sha256 {goal.classifier[:12]}…, and this one {self.sha256[:12]}…: "
                "name the one it was begun with"
            )
        return replace(recipe, objective=replace(goal, classifier=self.sha256))


def goal_of(recipe: Recipe, classifier: FrozenClassifier | None, device: torch.device) -> Charging:
    """What is trained for; InputError where the recipe's classifier was not given."""
    goal = recipe.objective
    if not isinstance(goal, Denoising) or not goal.stability:
        return goal
    if classifier is None:
        raise InputError("the recipe's stability is that of a classifier: name its run with --classifier")
    return Through(goal, in_precision(classifier.f.to(device), recipe.precision))


def read_classifier(spec: str | os.PathLike[str], images: ImageSet) -> FrozenClassifier:
    """A run folder of ours, its weights file, or a model that `interchange.open_model` reads.

    It must take the images of the training. One that cannot be differentiated, such as an ONNX file, is refused.
    """
    name, path = os.fspath(spec), Path(spec)
    if path.is_dir() or path.suffix == ".safetensors":
        found = _from_run(path)
    elif not path.exists() and not is_spec(name) and ":" not in name:
        raise InputError(f"{name}: no such run or model file")
    else:
        opened = open_model(name, image_shape=images.shape)
        if not isinstance(opened.f, nn.Module):
            raise InputError(f"{name}: has no gradient, without which nothing can be learnt through it: name a network")
        found = FrozenClassifier(opened.f, opened.about["sha256"])
    takes = declared(found.f).input_shape
    if takes is not None and tuple(takes) != images.shape:
        sizes = " but the images are ".join("×".join(map(str, size)) for size in (takes, images.shape))
        raise InputError(f"{name}: takes images of {sizes}")
    return found


def _from_run(path: Path) -> FrozenClassifier:
    run = read_finished(path)
    if "task" in run.about:
        raise InputError(f"{path}: holds no classifier")
    name = run.about["model"]
    if is_spec(name):  # a file does not decide what is imported
        raise InputError(f"{path}: its network is code of one's own: name what makes it, {shown(name)}")
    f = build(name, run.about["num_classes"], run.about["normalization"])
    try:
        f.load_state_dict(run.weights)
    except RuntimeError as error:
        raise InputError(f"{path}: does not fit {name}: {' '.join(str(error).split())}") from error
    return FrozenClassifier(frozen(f), run.sha256)
