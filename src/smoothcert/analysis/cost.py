"""What a training cost, from its log: the columns of the paper's table 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from smoothcert.errors import InputError

PHASES = ("data", "attack", "descent")


@dataclass(frozen=True)
class Cost:
    """Median seconds an epoch, by phase, and the peak memory of the process (and of a CUDA device)."""

    epochs: int
    seconds: float
    """of all epochs"""
    epoch_seconds: float
    by_phase: dict[str, float]
    images_per_second: float
    peak_memory_process: int | None
    peak_memory_device: int | None


def cost(rows: Sequence[Mapping[str, Any]]) -> Cost:
    """The cost of a training log; medians, because the first epoch warms up and others may have been disturbed."""
    needed = ("seconds", "images_per_second", *(f"seconds_{phase}" for phase in PHASES))
    for row in rows:
        if not all(_is_number(row.get(key)) for key in needed):
            raise InputError(f"a row of the training log does not tell its cost ({', '.join(needed)})")

    def middle(key: str) -> float:
        return float(median(row[key] for row in rows))

    def peak(key: str) -> int | None:
        return max((row[key] for row in rows if _is_number(row.get(key))), default=None)

    return Cost(
        epochs=len(rows),
        seconds=float(sum(row["seconds"] for row in rows)),
        epoch_seconds=middle("seconds"),
        by_phase={phase: middle(f"seconds_{phase}") for phase in PHASES},
        images_per_second=middle("images_per_second"),
        peak_memory_process=peak("peak_memory_process"),
        peak_memory_device=peak("peak_memory_device"),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e15  # false for NaN
