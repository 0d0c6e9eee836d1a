"""Learning-rate schedules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from smoothcert.errors import InputError


class Schedule(Protocol):
    """The factor on the learning rate at a moment of training, given in epochs (fractions allowed)."""

    def factor(self, epoch: float, epochs: int) -> float: ...


@dataclass(frozen=True)
class StepDecay:
    """by^⌊(epoch − late) / every⌋: the paper decays at multiples of `every`, its released code an epoch later.

    A negative `late` is early: MACER's trainer counts epochs from 1, and decays in those that are multiples.
    """

    every: int
    by: float = 0.1
    late: int = 0

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"a step decay needs every >= 1 epochs, not {self.every}")
        if not 0 <= self.by <= 1 or self.late <= -self.every:
            raise InputError(f"a step decay needs 0 <= by <= 1 and late > -every, not {self.by} and {self.late}")

    def factor(self, epoch: float, epochs: int) -> float:
        return float(self.by ** (max(0, int(epoch) - self.late) // self.every))


@dataclass(frozen=True)
class LinearDecay:
    """Up to 1 over `warmup` epochs, then straight down to 0 at the end."""

    warmup: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.warmup < math.inf:
            raise InputError(f"a linear decay needs a warmup of 0 or more epochs, not {self.warmup}")

    def factor(self, epoch: float, epochs: int) -> float:
        if epoch < self.warmup:
            return epoch / self.warmup
        return max(0.0, (epochs - epoch) / (epochs - self.warmup))


@dataclass(frozen=True)
class Trapezoid:
    """From `first` up to 1 over the first share `up` of training, 1, then down to `last` over the last share `down`.

    Straight lines. One cycle is up + down = 1; flat, then linear is up = 0.
    """

    up: float = 0.0
    down: float = 1.0
    first: float = 0.0
    last: float = 0.0

    def __post_init__(self) -> None:
        if not (self.up >= 0 and self.down >= 0 and self.up + self.down <= 1):
            raise InputError(f"a trapezoid needs up >= 0, down >= 0, up + down <= 1, not {self.up} and {self.down}")
        if not (0 <= self.first <= 1 and 0 <= self.last <= 1):
            raise InputError(f"a trapezoid needs first and last between 0 and 1, not {self.first} and {self.last}")

    def factor(self, epoch: float, epochs: int) -> float:
        done = epoch / epochs
        if done < self.up:
            return self.first + (1 - self.first) * done / self.up
        if done > 1 - self.down:
            return self.last + (1 - self.last) * max(0.0, 1 - done) / self.down
        return 1.0


SCHEDULES: dict[str, type[Schedule]] = {"step_decay": StepDecay, "linear_decay": LinearDecay, "trapezoid": Trapezoid}
