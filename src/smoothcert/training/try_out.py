"""Whether network, images and parts of one's own fit each other: found out before a run folder is touched."""

from __future__ import annotations

import copy
import math
import os
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.files.shown import one_line, shown
from smoothcert.models.network import declared
from smoothcert.noise.stream import generator_for
from smoothcert.objectives import Charging
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


def try_out(recipe: Recipe, f: nn.Module, images: ImageSet, goal: Charging | None = None, smallest: int = 2) -> None:
    """InputError in one line where the recipe could not be trained; f stays as it is.

    Two images pass through f. Where the recipe names code of one's own, a whole step is tried on a copy of f, under the
    objective of the first epoch and of the last: `goal` where it is more than the recipe's. The `smallest` step of an
    epoch may have one image, which batch norm, for one, cannot do with: then that is tried too.
    """
    shape = declared(f).input_shape
    if shape is not None and tuple(shape) != images.shape:
        takes, are = ("×".join(map(str, size)) for size in (shape, images.shape))
        raise InputError(f"{recipe.model} takes images of {takes}, but those of {recipe.data} are {are}: change one")
    x, y = images.batch(torch.arange(min(2, len(images))))
    f.eval()
    # Of a denoiser σ = 1, or the step t = 1.
    level = {"classify": (), "denoise": (torch.ones(len(x)),), "predict-noise": (torch.ones(len(x)).long(),)}
    with torch.no_grad():
        made = _tried(recipe.model, lambda: f(x, *level[recipe.objective.task]))
    f.train()
    classifies = recipe.objective.task == "classify"
    wanted = (len(x), images.num_classes) if classifies else tuple(x.shape)
    if not isinstance(made, Tensor) or tuple(made.shape) != wanted:
        found = tuple(made.shape) if isinstance(made, Tensor) else type(made).__name__
        needed = f"{'logits' if classifies else 'images'} {wanted} are needed"
        raise InputError(f"{recipe.model} gives {found} for {len(x)} images of {recipe.data}; {needed}")
    if recipe.sources:
        goal = goal or recipe.objective
        step = partial(_one_step, recipe, goal, num_classes=images.num_classes)
        _tried("the recipe", lambda: step(copy.deepcopy(f), x, y))
        if smallest == 1:
            alone = "the last step of an epoch, which has one image (take another batch),"
            _tried(alone, lambda: step(copy.deepcopy(f), x[:1], y[:1]), "")


def _one_step(recipe: Recipe, goal: Charging, f: nn.Module, x: Tensor, y: Tensor, num_classes: int) -> None:
    votes = nn.functional.one_hot(y, num_classes).to(x.dtype) if recipe.objective.wants_votes else None
    for epoch in {0, recipe.epochs - 1}:
        factor = recipe.schedule.factor(float(epoch), recipe.epochs)
        if not isinstance(factor, int | float) or not 0 <= factor < math.inf:
            raise InputError(f"the schedule's factor in epoch {epoch} is {shown(factor)}, not a number >= 0")
        objective, generator = goal.at(epoch), generator_for(x.device, recipe.seed, "try", epoch)
        with seeded(x.device, recipe.seed, "try", epoch):
            charges = objective.charge(f, objective.views(f, x, y, generator, votes=votes), y)
            charges.loss.backward()
            objective.watch(f, x, y, generator)
        for name in charges.terms:
            if name in _TAKEN or name in charges.seen(y) or name.startswith(("seconds_", "peak_memory")):
                raise InputError(f"a term cannot be called {name}: a training log has this column already")


def _tried(what: str, call: Callable[[], Result], on: str = " on two images") -> Result:
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
        raise InputError(f"{what} fails{on}: {one_line(error)}{where}") from error
