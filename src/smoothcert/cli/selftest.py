"""smoothcert selftest"""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import dataclass, field

from smoothcert.cli.machine import Machine
from smoothcert.errors import InputError


@dataclass(frozen=True)
class Selftest:
    """Test the noise as the engine hands it to a classifier, and certificates whose exact radius is known.

    For Gaussian, Laplace and uniform noise: moments, tails, the law of a coordinate and of ‖δ‖, independence across
    votes, images, stages, seeds and blocks; then certificates of a linear classifier, which may exceed its margin with
    probability alpha. Each check has a p-value; its level is 1e-6 divided by the number of checks, so that a good
    generator fails with probability 1e-6. Exits with 1 if a check fails.
    """

    votes: int = 4500
    """noises of 784 numbers per law"""
    points: int = 300
    """certificates of the linear classifier per law"""
    seed: int = 0
    """another seed, another sample"""
    json: bool = False
    """print one JSON object"""
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.audit.check import FALSE_ALARM, Check
        from smoothcert.audit.coverage import check_coverage
        from smoothcert.audit.noise_law import check_noise
        from smoothcert.noise import NOISES

        if self.votes < 100 or self.points < 10:
            raise InputError("--votes must be at least 100 and --points at least 10: fewer test nothing")
        device = self.machine.ready()
        checks: list[Check] = []
        largest: dict[str, float] = {}
        for number, (name, law) in enumerate(NOISES.items()):
            noise, seed = law(0.5), self.seed + 10 * number  # type: ignore[call-arg]  # laws share draws of one seed
            found, largest[name] = check_noise(noise, self.votes, seed, device)
            checks += found + check_coverage(noise, self.points, seed, device)
        level = FALSE_ALARM / len(checks)
        failed = [check for check in checks if not check.p_value > level]
        if self.json:
            about = {"device": device.type, "votes": self.votes, "points": self.points, "seed": self.seed}
            rows = [check._asdict() for check in checks]
            result = {"level": level, "failed": len(failed), "largest": largest, "checks": rows}
            print(jsonlib.dumps(about | result))
        else:
            self._print(checks, level, largest, device.type)
        if failed:
            sys.exit(1)

    def _print(self, checks: list, level: float, largest: dict[str, float], device: str) -> None:
        from smoothcert.cli.display import print_table

        rows = [[c.noise, c.name, c.statistic, f"{c.p_value:.2g}", "FAILED" * (not c.p_value > level)] for c in checks]
        print_table(["noise", "check", "seen", "p-value", ""], rows)
        failed = sum(bool(row[-1]) for row in rows)
        print(
            f"\nlargest |δ|/scale among {784 * self.votes:,} numbers: "
            + ", ".join(f"{name} {value:.3f}" for name, value in largest.items())
            + "; float32 noise is bounded, ideal noise is not: see docs/guarantee.md"
        )
        said = f"{failed} of {len(checks)} checks failed" if failed else f"{len(checks)} checks, none failed"
        print(f"{said}  ({device}, seed {self.seed}; level {level:.1e} each: a false alarm once in a million runs)")
