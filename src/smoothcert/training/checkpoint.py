"""Everything needed to go on with a training after it was stopped at any instant."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.interchange.weights import load_weights, save_weights
from smoothcert.training.learner import Learner


@dataclass
class Position:
    """Where a training is. All randomness is a function of (seed, epoch, step), so this is the random state too."""

    epoch: int = 0
    step: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    """running totals of the epoch under way"""
    seconds: float = 0.0
    """spent on the epoch under way"""
    phases: dict[str, float] = field(default_factory=dict)
    """of these, as far as measured: see Stopwatch"""
    history: list[dict[str, Any]] = field(default_factory=list)
    """one row per finished epoch"""

    def add_seconds(self, total: float, phases: dict[str, float]) -> None:
        self.seconds += total
        self.phases = {phase: self.phases.get(phase, 0.0) + spent for phase, spent in phases.items()}

    def start_next_epoch(self, row: dict[str, Any]) -> None:
        self.history.append(row)
        self.epoch, self.step, self.sums, self.seconds, self.phases = self.epoch + 1, 0, {}, 0.0, {}


def save_checkpoint(path: Path, learner: Learner, position: Position, trained: dict[str, Any]) -> None:
    """Atomic; the checkpoint before this one is kept beside it. `trained`: its recipe and data_fingerprint."""
    fresh = path.with_name(f"{path.stem}.new{path.suffix}")
    save_weights(fresh, learner.state(), {"position": vars(position), **trained})
    if path.exists():
        path.replace(previous(path))
    fresh.replace(path)


def load_checkpoint(path: Path, learner: Learner, trained: dict[str, Any]) -> Position:
    """Restore the learner in place; a damaged checkpoint gives way, visibly, to the one before it.

    InputError where it is of another recipe or of other images; older checkpoints do not say of which.
    """
    if not path.exists() and not previous(path).exists():
        return Position()
    try:
        tensors, about = load_weights(path)
    except InputError as error:
        if not previous(path).exists():
            raise InputError(f"{error}; there is no earlier one: delete it to start again") from error
        if path.exists():  # a missing one only means that the last save was cut between its two renames
            warnings.warn(f"{error}; going on from {previous(path).name}", stacklevel=2)
        tensors, about = load_weights(previous(path))
    if about.get("recipe") != trained["recipe"]:
        raise InputError(f"{path}: is of another recipe: choose another --out")
    if about.get("data_fingerprint", trained["data_fingerprint"]) != trained["data_fingerprint"]:
        raise InputError(f"{path}: the training images have changed since it began: undo that, or choose another --out")
    position = _position(about.get("position"))
    if position is None:
        raise InputError(f"{path}: is not a checkpoint that this program wrote: delete it to start again")
    try:
        learner.restore(tensors)
    except RuntimeError as error:
        raise InputError(f"{path}: does not fit the recipe's network: delete it to start again") from error
    return position


def _position(found: Any) -> Position | None:
    """None unless all is there, and of its kind."""
    plain = vars(Position())
    if not isinstance(found, dict) or found.keys() != plain.keys():
        return None
    kinds = {key: (int, float) if isinstance(value, float) else type(value) for key, value in plain.items()}
    if not all(isinstance(found[key], kinds[key]) for key in plain) or min(found["epoch"], found["step"]) < 0:
        return None
    tables = (found["sums"], found["phases"])
    if not all(isinstance(number, int | float) for table in tables for number in table.values()):
        return None
    return Position(**found)


def previous(path: Path) -> Path:
    return path.with_name(f"{path.stem}.previous{path.suffix}")
