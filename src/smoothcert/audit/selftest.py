"""selftest: exact errors of all procedures, the noise as the engine hands it to a classifier, and what must not be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Unpack

import torch

from smoothcert.audit.check import Check
from smoothcert.audit.coverage import check_all_coverage, check_theorem
from smoothcert.audit.exact_error import check_anytime, check_procedures, check_rules
from smoothcert.audit.noise_law import SHAPES, check_noise
from smoothcert.audit.repeats import STREAMS, check_refusals, check_streams, check_votes
from smoothcert.errors import InputError
from smoothcert.machine.device import Where, prepare
from smoothcert.noise import NOISES, Noise

FALSE_ALARM = 1e-6  # of a whole self-test, whatever the number of its checks


@dataclass(frozen=True)
class Selftest:
    """All checks; each fails below `level`, so that a good generator fails one of them with probability 1e-6."""

    device: str
    checks: tuple[Check, ...]
    largest: dict[str, float]
    """|δ| / scale by noise"""

    @property
    def level(self) -> float:
        return FALSE_ALARM / len(self.checks)

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if not check.p_value > self.level]


@dataclass
class Suite:
    """All checks, the quick ones first, over the package's list of noises: a new noise joins by being in it."""

    votes: int = 4500
    points: int = 300
    seed: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    streams: int = STREAMS
    shapes: tuple[tuple[int, ...], ...] = SHAPES
    largest: dict[str, float] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Check]:
        noises: dict[str, Noise] = {name: law(0.5) for name, law in NOISES.items()}  # type: ignore[call-arg]
        yield from check_rules()
        yield from check_anytime()
        yield from check_procedures()
        for noise in noises.values():
            yield from check_theorem(noise)
            yield from check_votes(noise, self.seed, self.device)
        yield from check_refusals(noises["gaussian"], self.device)
        for shape in self.shapes:
            for number, (name, noise) in enumerate(noises.items()):
                own = self.seed + 10 * number  # laws share draws of one seed
                found, largest = check_noise(noise, self.votes, own, self.device, shape)
                self.largest[name] = max(largest, self.largest.get(name, 0.0))
                yield from found
                if shape == self.shapes[0]:
                    yield from check_all_coverage(noise, self.points, own, self.device)
        yield from check_streams(self.seed, self.device, self.streams)


def selftest(votes: int = 4500, points: int = 300, seed: int = 0, **where: Unpack[Where]) -> Selftest:
    """`votes` noises of 784 numbers and `points` certificates of a linear classifier for each law, and the rest."""
    if votes < 100 or points < 10:
        raise InputError("--votes must be at least 100 and --points at least 10: fewer test nothing")
    suite = Suite(votes, points, seed, prepare(where))
    if votes < Suite.votes:  # the other parts are made smaller alike
        suite.streams, suite.shapes = STREAMS * votes // Suite.votes, SHAPES[:2]
    checks = tuple(suite)
    return Selftest(suite.device.type, checks, suite.largest)
