"""Many images at once: their questions are packed into full batches, their answers come one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from smoothcert.errors import InputError
from smoothcert.procedures.certificate import Certificate, conclude
from smoothcert.procedures.evidence import Ask, Counts, Evidence
from smoothcert.procedures.procedure import Procedure
from smoothcert.smoothed.votes import Request, Voter, Votes

ROUND = 8192  # votes asked for at a time: many full batches, so that a last one that is not full weighs little


@dataclass(frozen=True, eq=False)
class Image:
    """What is certified: x, the index that names its noise, and its label if the procedure is label-aware."""

    x: Tensor
    index: int
    label: int | None = None
    selection: Counts = ()
    """its selection votes, where they have been drawn before"""


@dataclass(eq=False)
class _Case:
    """One image on its way to a certificate."""

    image: Image
    evidence: Evidence
    ask: Ask
    estimation: Votes
    seconds: float = 0.0

    @property
    def request(self) -> Request:
        have = int(self.estimation.sum()) if self.ask.stage == "estimation" else 0
        return Request(self.image.x, self.image.index, self.ask.stage, have, self.ask.stop)

    @property
    def missing(self) -> int:
        return self.request.stop - self.request.start

    def learn(self, found: Votes) -> None:
        if self.ask.stage == "selection":
            self.evidence = self.evidence.selected(found)
        else:
            self.estimation = self.estimation + found
            self.evidence = self.evidence.looked(self.estimation)


def drive(
    voter: Voter, procedure: Procedure, images: Iterable[Image], room: Callable[[], int] | None = None
) -> Iterator[tuple[Image, Certificate, float]]:
    """Certificates as they are finished, with the seconds each took of the rounds it shared.

    The images begun first are served first, and new ones begun only while the questions do not fill a round: so few
    are open at any time, and little is lost when it is stopped; never more than `room()`, but one. The votes of an
    image are the same in any company.
    """
    waiting, outstanding = iter(images), list[_Case]()
    while True:
        asked = sum(case.missing for case in outstanding)
        while asked < ROUND and (not outstanding or room is None or len(outstanding) < room()):
            if (image := next(waiting, None)) is None:
                break
            outstanding.append(_begin(procedure, image, voter.num_classes))
            asked += outstanding[-1].missing
        if not outstanding:
            return
        served, votes = list[_Case](), 0
        for case in outstanding:
            if votes < ROUND:
                served.append(case)
                votes += case.missing
        clock = time.perf_counter()
        counted = voter.count([case.request for case in served])
        each = (time.perf_counter() - clock) / votes
        for case, found in zip(served, counted, strict=True):
            case.seconds += each * case.missing
            case.learn(found)
            ask = procedure.next(case.evidence)
            if ask is not None:
                case.ask = ask
                continue
            outstanding.remove(case)
            certificate = conclude(procedure, case.evidence, voter.seed, case.image.index, voter.precision)
            yield case.image, certificate, case.seconds


def _begin(procedure: Procedure, image: Image, num_classes: int) -> _Case:
    given = image.label if procedure.label_aware else None
    if procedure.label_aware and (given is None or not 0 <= given < num_classes):
        raise InputError(f"a label-aware procedure needs the label of every image, 0 to {num_classes - 1}")
    evidence = Evidence(image.selection, given=given)
    ask = procedure.next(evidence)
    assert ask is not None  # nothing can be certified without a vote
    return _Case(image, evidence, ask, np.zeros(num_classes, np.int64))
