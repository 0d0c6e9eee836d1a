"""What a training cost, from its log: the columns of the paper's table 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from smoothcert.analysis.setting import Setting, recipe_setting
from smoothcert.errors import InputError
from smoothcert.paper import PrintedCost, costs
from smoothcert.recipes import Recipe, find_recipe
from smoothcert.records.training_log import PHASES


@dataclass(frozen=True)
class TrainingCost:
    """Median seconds an epoch, by phase, and the peak memory of the process (and of a CUDA device)."""

    epochs: int
    seconds: float
    """of all epochs"""
    epoch_seconds: float
    by_phase: dict[str, float]
    images_per_second: float
    peak_memory_process: int | None
    peak_memory_device: int | None

    @property
    def peak_memory(self) -> int | None:
        return self.peak_memory_device or self.peak_memory_process

    def hours(self, recipe: Recipe, whole: Recipe | None = None) -> float:
        """Of all epochs of `recipe`, by the median one; where `recipe` is a reduction of `whole`, of all of those."""
        epochs, fraction = (recipe.epochs, 1.0) if whole is None else (whole.epochs, recipe.fraction or 1.0)
        return epochs * self.epoch_seconds / fraction / 3600


def training_cost(rows: Sequence[Mapping[str, Any]]) -> TrainingCost:
    """The cost of a training log; medians, because the first epoch warms up and others may have been disturbed."""
    needed = ("seconds", "images_per_second", *(f"seconds_{phase}" for phase in PHASES))
    for row in rows:
        if not all(_is_number(row.get(key)) for key in needed):
            raise InputError(f"a row of the training log does not tell its cost ({', '.join(needed)})")

    def middle(key: str) -> float:
        return float(median(row[key] for row in rows))

    def peak(key: str) -> int | None:
        return max((row[key] for row in rows if _is_number(row.get(key))), default=None)

    return TrainingCost(
        epochs=len(rows),
        seconds=float(sum(row["seconds"] for row in rows)),
        epoch_seconds=middle("seconds"),
        by_phase={phase: middle(f"seconds_{phase}") for phase in PHASES},
        images_per_second=middle("images_per_second"),
        peak_memory_process=peak("peak_memory_process"),
        peak_memory_device=peak("peak_memory_device"),
    )


def printed_cost(recipe: Recipe) -> PrintedCost | None:
    """The row of table 3 of this data set, network, method, σ, λ and m, however long it was trained."""
    wanted = _setting(recipe)
    return next((row for row in costs() if _setting(find_recipe(row.recipe)) == wanted), None)


def _setting(recipe: Recipe) -> Setting:
    noise = recipe.objective.noise
    return recipe_setting(recipe, None if noise is None else noise.scale)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e15  # false for NaN
