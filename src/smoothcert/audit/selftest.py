"""selftest: exact errors of all procedures, the noise as the engine hands it to a classifier, and what must not be."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
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
from smoothcert.machine.work import work
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
        for part in self.parts():
            yield from part

    def parts(self) -> list[Iterable[Check]]:
        """Nothing is drawn before a part is iterated."""
        noises: dict[str, Noise] = {name: law(0.5) for name, law in NOISES.items()}  # type: ignore[call-arg]
        parts: list[Iterable[Check]] = [check_rules(), check_anytime(), check_procedures()]
        for noise in noises.values():
            parts += [check_theorem(noise), check_votes(noise, self.seed, self.device)]
        parts.append(check_refusals(noises["gaussian"], self.device))
        for shape in self.shapes:
            for number, (name, noise) in enumerate(noises.items()):
                own = self.seed + 10 * number  # laws share draws of one seed
                parts.append(self._law(name, noise, own, shape))
                if shape == self.shapes[0]:
                    parts.append(check_all_coverage(noise, self.points, own, self.device))
        return [*parts, check_streams(self.seed, self.device, self.streams)]

    def _law(self, name: str, noise: Noise, seed: int, shape: tuple[int, ...]) -> Iterator[Check]:
        found, largest = check_noise(noise, self.votes, seed, self.device, shape)
        self.largest[name] = max(largest, self.largest.get(name, 0.0))
        yield from found


@dataclass(frozen=True)
class Checked:
    """A part of the self-test is done."""

    done: int
    total: int
    checks: int
    """until now"""

    def __str__(self) -> str:
        return f"{self.checks} checks"


@work
def selftest(
    votes: int = 4500, points: int = 300, seed: int = 0, **where: Unpack[Where]
) -> Generator[Checked, None, Selftest]:
    """`votes` noises of 784 numbers and `points` certificates of a linear classifier for each law, and the rest."""
    if votes < 100 or points < 10:
        raise InputError("--votes must be at least 100 and --points at least 10: fewer test nothing")
    suite = Suite(votes, points, seed, prepare(where))
    if votes < Suite.votes:  # the other parts are made smaller alike
        suite.streams, suite.shapes = STREAMS * votes // Suite.votes, SHAPES[:2]
    parts, checks = suite.parts(), list[Check]()
    for done, part in enumerate(parts, 1):
        checks += part
        yield Checked(done, len(parts), len(checks))
    return Selftest(suite.device.type, tuple(checks), suite.largest)
