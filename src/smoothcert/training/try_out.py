"""Whether network, images and parts of one's own fit each other: found out before a run folder is touched."""

from __future__ import annotations

import copy
import math
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.files.shown import one_line, shown
from smoothcert.models.network import declared
from smoothcert.noise.stream import generator_for
from smoothcert.recipes import Recipe
from smoothcert.training.seeded import seeded

Result = TypeVar("Result")
_OURS, _TORCH = Path(__file__).parents[1], f"{os.sep}torch{os.sep}"
_TAKEN = {
    "epoch",
    "lr",
    "images",
    "noisy_accuracy",
    "test_noisy_accuracy",
    "seconds",
    "images_per_second",
    "images_kept",
}
"""columns of a training log: no term may have such a name"""


def try_out(recipe: Recipe, f: nn.Module, images: ImageSet) -> None:
    """InputError in one line where the recipe could not be trained; f stays as it is.

    Two images pass through f. Where the recipe names code of one's own, a whole step is tried on a copy of f, under the
    objective of the first epoch and of the last.
    """
    wanted = declared(f).input_shape
    if wanted is not None and tuple(wanted) != images.shape:
        takes, are = ("×".join(map(str, size)) for size in (wanted, images.shape))
        raise InputError(f"{recipe.model} takes images of {takes}, but those of {recipe.data} are {are}: change one")
    x, y = images.batch(torch.arange(min(2, len(images))))
    f.eval()
    with torch.no_grad():
        logits = _tried(recipe.model, lambda: f(x))
    f.train()
    if not isinstance(logits, Tensor) or tuple(logits.shape) != (len(x), images.num_classes):
        found = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        needed = f"logits {(len(x), images.num_classes)} are needed"
        raise InputError(f"{recipe.model} gives {found} for {len(x)} images of {recipe.data}; {needed}")
    if recipe.sources:
        _tried("the recipe", lambda: _one_step(recipe, copy.deepcopy(f), x, y, images.num_classes))


def _one_step(recipe: Recipe, f: nn.Module, x: Tensor, y: Tensor, num_classes: int) -> None:
    votes = nn.functional.one_hot(y, num_classes).to(x.dtype) if recipe.objective.wants_votes else None
    for epoch in {0, recipe.epochs - 1}:
        factor = recipe.schedule.factor(float(epoch), recipe.epochs)
        if not isinstance(factor, int | float) or not 0 <= factor < math.inf:
            raise InputError(f"the schedule's factor in epoch {epoch} is {shown(factor)}, not a number >= 0")
        objective, generator = recipe.objective.at(epoch), generator_for(x.device, recipe.seed, "try", epoch)
        with seeded(x.device, recipe.seed, "try", epoch):
            charges = objective(f, x, y, generator, votes)
            charges.loss.backward()
            objective.noise.sample_like(x, generator)
        for name in charges.terms:
            if name in _TAKEN or name.startswith(("seconds_", "peak_memory")):
                raise InputError(f"a term cannot be called {name}: a training log has this column already")


def _tried(what: str, call: Callable[[], Result]) -> Result:
    try:
        return call()
    except InputError:
        raise
    except Exception as error:  # anybody's code can raise anything
        frames = traceback.extract_tb(error.__traceback__)
        own = [
            frame for frame in frames if not Path(frame.filename).is_relative_to(_OURS) and _TORCH not in frame.filename
        ]
        where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
        raise InputError(f"{what} fails on two images: {one_line(error)}{where}") from error
