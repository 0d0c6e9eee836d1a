"""train: a recipe → a run folder."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from smoothcert.data import load, splits
from smoothcert.errors import InputError
from smoothcert.machine.device import Where, prepare
from smoothcert.machine.processes import place
from smoothcert.machine.work import work
from smoothcert.recipes import Recipe, find_recipe
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log
from smoothcert.training.count_votes import Votes
from smoothcert.training.first_votes import read_first
from smoothcert.training.frozen_classifier import read_classifier
from smoothcert.training.loop import Epoch, Step, train_on
from smoothcert.training.start import read_start
from smoothcert.training.team import joined
from smoothcert.training.watched import tested_in_words


@dataclass(frozen=True)
class TrainedRun(os.PathLike[str]):
    """A finished training; stands for its folder wherever a path is wanted."""

    folder: Path
    recipe: Recipe
    epochs: tuple[dict[str, Any], ...]
    """what was measured in each epoch; of several processes only the first knows it"""

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def noisy_accuracy(self) -> float:
        """The share of test images that f gets right under one noise draw, after the last epoch.

        Of a classifier that is trained under noise; `tested` says what is known of others.
        """
        if "test_noisy_accuracy" not in self.epochs[-1]:
            raise InputError(f"{self.folder}: was not trained to classify under noise: it has {self.tested}")
        return float(self.epochs[-1]["test_noisy_accuracy"])

    @property
    def tested(self) -> str:
        """How good it is on test images after the last epoch, in words."""
        return tested_in_words(self.epochs[-1])


@work
def train(
    recipe: Recipe | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    seed: int | None = None,
    init: str | os.PathLike[str] | None = None,
    first: str | os.PathLike[str] | None = None,
    classifier: str | os.PathLike[str] | None = None,
    **where: Unpack[Where],
) -> Generator[Step | Epoch | Votes, None, TrainedRun]:
    """Train a recipe into a run folder; called again, it goes on where it was stopped.

    A run that was stopped ends with the same weights as one that was not, bit for bit on one kind of machine. While it
    runs, the folder is locked: a second call fails with InputError. Processes that torchrun started share the steps.

    Args:
        recipe: a recipe, its name as in `smoothcert recipes`, or a .toml or .json file of one
        out: run folder: recipe.json, the checkpoint, train.jsonl, and at the end model.safetensors
        seed: decides initial weights, order and noise (default: the recipe's, which is 0)
        init: run folder or weights to start from instead of fresh ones; the network must be the recipe's
        first: a finished run that is the recipe's first network, where it has one (default: it is trained in out/first)
        classifier: of a denoiser that is trained for one: a run folder, or a model as `certify_run` takes it
        where: data, the folder of data sets; device, such as "cpu" or "cuda:1"; threads; workers, which decode pictures

    Returns:
        work: iterate over its events (`Step`, `Epoch`, `Votes`), or call `finish()`, which gives the `TrainedRun`

    Example:
        >>> import tempfile
        >>> from smoothcert.recipes import find_recipe, override
        >>> recipe = override(find_recipe("mnist5k/gaussian/0.50"), ["data=fake", "epochs=1"])
        >>> with tempfile.TemporaryDirectory() as out:
        ...     run = train(recipe, out, device="cpu").finish()
        >>> len(run.epochs)
        1
    """
    chosen = recipe if isinstance(recipe, Recipe) else find_recipe(str(recipe))
    chosen = chosen if seed is None else replace(chosen, seed=seed)
    folder, here, device = Path(out), place(), prepare(where)
    train_set, test_set = (
        load(chosen.data, split, where.get("data"), where.get("workers")) for split in splits(chosen.held_out)
    )
    start = None if init is None else read_start(Path(init), chosen, train_set.num_classes, train_set.shape[0])
    chosen = chosen if start is None else start.of(chosen)
    chosen, given = (chosen, None) if first is None else read_first(Path(first), chosen)
    through = None if classifier is None else read_classifier(classifier, train_set)
    chosen = chosen if through is None else through.of(chosen)
    with joined(here, device) as team:
        yield from train_on(chosen, folder, train_set, test_set, device, team, start, given, through)
    return TrainedRun(folder, chosen, tuple(read_training_log(RunFolder(folder).training_log)) if here.first else ())
