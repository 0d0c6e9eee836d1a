"""What is known of one image's votes: all that a procedure may look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothcert.errors import InputError

Counts = tuple[int, ...]


class Ask(NamedTuple):
    """Votes 0 … stop − 1 of this stage; those that are there already are not drawn again."""

    stage: str
    stop: int


class Look(NamedTuple):
    """After n estimation votes: those not for the class, and those for the strongest other class."""

    n: int
    errors: int
    runner_up: int


@dataclass(frozen=True)
class Evidence:
    """The votes of one image so far; a procedure's questions and its answer are functions of it."""

    selection: Counts = ()
    """n₀ votes per class, which chose the class or planned n; empty before they are drawn, or where none are"""
    estimation: Counts = ()
    """all fresh votes per class, which judge it"""
    looks: tuple[Look, ...] = ()
    """what a procedure saw of them, and when"""
    given: int | None = None
    """the class to judge where the image's label names it (label-aware), instead of the selection votes"""

    @property
    def choice(self) -> int:
        """The class that most selection votes are for."""
        return int(np.argmax(self.selection))

    @property
    def judged(self) -> int:
        """The class whose votes are counted: fixed without the estimation votes, or no bound would hold."""
        return self.choice if self.given is None else self.given

    @property
    def pilot_errors(self) -> int:
        return sum(self.selection) - self.selection[self.judged]

    def selected(self, votes: ArrayLike) -> Evidence:
        return replace(self, selection=tuple(map(int, counts(votes))))

    def looked(self, votes: ArrayLike) -> Evidence:
        """With all estimation votes so far."""
        judged = counts(votes)
        look = _look(judged, self.judged)
        return replace(self, estimation=tuple(map(int, judged)), looks=(*self.looks, look))

    @property
    def possible(self) -> bool:
        """Whether one sample that only grows can have been seen like this, and ended in these counts."""
        if not self.looks or _look(np.array(self.estimation), self.judged) != self.looks[-1]:
            return False
        for a, b in pairwise((Look(0, 0, 0), *self.looks)):
            more = (b.n - a.n, b.errors - a.errors, b.runner_up - a.runner_up)
            if not (more[0] >= more[1] >= 0 and 0 <= more[2] <= more[1] and b.runner_up <= b.errors):
                return False
        return True


def counts(votes: ArrayLike) -> NDArray[np.int64]:
    found = np.asarray(votes)
    if found.ndim != 1 or len(found) < 2 or found.dtype.kind not in "iu" or (found < 0).any():
        raise InputError("votes must be one list of whole numbers >= 0, one per class, for at least 2 classes")
    return found.astype(np.int64)


def _look(votes: NDArray[np.int64], judged: int) -> Look:
    if not 0 <= judged < len(votes):
        raise InputError(f"class {judged} is not among the {len(votes)} classes of the votes")
    n = int(votes.sum())
    return Look(n, n - int(votes[judged]), int(np.delete(votes, judged).max()))
