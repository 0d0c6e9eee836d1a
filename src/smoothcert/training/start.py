"""Fine-tuning: a training that starts from given weights instead of those of its seed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from smoothcert.errors import InputError, Notice
from smoothcert.files.source import is_spec
from smoothcert.interchange.foreign_checkpoint import fill_factory, import_checkpoint
from smoothcert.recipes import Init, Recipe, from_dict, listed_recipe
from smoothcert.training.build_network import build_network
from smoothcert.training.finished_run import FinishedRun, read_finished


@dataclass(frozen=True)
class Start:
    """The weights that f has before the first step, by the names of its state, and where they come from."""

    init: Init
    weights: dict[str, Tensor]

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe that starts from these weights; InputError where it names others."""
        if recipe.init is not None and recipe.init.sha256 != self.init.sha256:
            raise InputError(
                f"--init: the recipe starts from {recipe.init.name} (sha256 {recipe.init.sha256[:12]}…), and these are "
                f"other weights (sha256 {self.init.sha256[:12]}…)"
            )
        return replace(recipe, init=recipe.init or self.init)


def read_start(path: Path, recipe: Recipe, num_classes: int, channels: int = 1) -> Start:
    """From a run folder, its weights file, or a checkpoint of somebody else's that fits the recipe's network.

    Nothing in the file is executed. A checkpoint must have the network of the recipe, its classes and its
    normalization; what a .pth file does not say of the last is believed.
    """
    name = path.resolve().name
    if path.is_dir() or (path.suffix == ".safetensors" and _is_ours(path)) or not path.exists():
        run = read_finished(path)
        _require_fit(run, recipe, num_classes)
        _require_asked_for(run, recipe)
        f = build_network(recipe, num_classes, channels)
        return Start(Init(name, run.sha256), _filled(path, recipe, f, run.weights))
    if recipe.starts_from is not None:
        raise InputError(f"{path}: the recipe starts from a run of {recipe.starts_from}, and this is none of ours")
    if recipe.held_out is not None:
        seen = "the images that are put aside (held_out) may be among those it was trained on: it does not say"
        warnings.warn(f"{path}: {seen}", Notice, stacklevel=2)
    if is_spec(recipe.model):
        foreign = fill_factory(path, recipe.model, build_network(recipe, num_classes, channels))
    else:
        foreign = import_checkpoint(path, recipe.model, num_classes, recipe.normalization)
    return Start(Init(name, foreign.about["sha256"]), foreign.f.state_dict())


def _is_ours(path: Path) -> bool:
    try:
        with safe_open(path, "pt") as file:
            return "smoothcert" in (file.metadata() or {})
    except (SafetensorError, OSError):
        return True  # whose reader says what is wrong with it


def _require_fit(run: FinishedRun, recipe: Recipe, num_classes: int) -> None:
    asked = {"model": recipe.model, "num_classes": num_classes, "normalization": recipe.normalization}
    aside = (run.about.get("recipe") or {}).get("held_out")
    if recipe.held_out is not None and aside != recipe.held_out:
        raise InputError(f"{run.path}: was trained on images that this recipe puts aside (held_out): change one")
    for key, wanted in asked.items():
        if run.about[key] != wanted:
            raise InputError(f"{run.path}: has {key} {run.about[key]}, but the recipe has {wanted}: change one")


def _require_asked_for(run: FinishedRun, recipe: Recipe) -> None:
    """Where the recipe names the one to start from: a run of that, whole, of any seed, on the same images."""
    if recipe.starts_from is None:
        return
    trained_by = from_dict(run.about["recipe"]) if "recipe" in run.about else None
    named = replace(listed_recipe(recipe.starts_from), data=recipe.data, model=recipe.model, held_out=recipe.held_out)
    if trained_by is None or replace(trained_by, seed=named.seed, sources=named.sources) != named:
        raise InputError(
            f"{run.path}: the recipe starts from a run of {recipe.starts_from}, and this is of another one"
        )


def _filled(path: Path, recipe: Recipe, f: nn.Module, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The state of f with these weights, each in the type that f has."""
    try:
        f.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{path}: does not fit {recipe.model}: {' '.join(str(error).split())[:200]}") from error
    return f.state_dict()
