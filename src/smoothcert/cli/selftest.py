"""smoothcert selftest"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.progress import Progress

if TYPE_CHECKING:
    from smoothcert.audit.selftest import Selftest as Found


@dataclass(frozen=True)
class Selftest:
    """Test the noise as the engine hands it to a classifier, and procedures and certificates whose error is known.

    The exact error of every procedure and bound, by summing over all votes; the theorem of every noise on half-spaces;
    that certificates rest on as many votes as they say, all fresh, and that an f which is no function of one image is
    refused. For images of MNIST, CIFAR-10 and ImageNet: moments, tails, digits, the law of a coordinate and of ‖δ‖,
    independence across coordinates, channels, votes, blocks, images, stages and seeds. Then certificates of a linear
    classifier, which may exceed its margin with probability alpha. Each check has a p-value; its level is 1e-6 divided
    by the number of checks, so that a good generator fails with probability 1e-6. Takes about a minute on one core.
    Exits with 1 if a check fails.
    """

    votes: int = 4500
    """noises of 784 numbers per law; with fewer the other checks shrink too"""
    points: int = 300
    """certificates of the linear classifier per law"""
    seed: int = 0
    """another seed, another sample"""
    json: bool = False
    """print one JSON document"""
    progress: Progress = "auto"
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.audit.selftest import selftest
        from smoothcert.cli.display import print_json, shown

        work = selftest(self.votes, self.points, self.seed, **self.machine.where())
        found = shown(work, "selftest", self.progress)
        if self.json:
            about = {"device": found.device, "votes": self.votes, "points": self.points, "seed": self.seed}
            rows = [check._asdict() for check in found.checks]
            result = {"level": found.level, "failed": len(found.failed), "largest": found.largest, "checks": rows}
            print_json(about | result)
        else:
            self._print(found)
        if found.failed:
            sys.exit(1)

    def _print(self, found: Found) -> None:
        from smoothcert.cli.display import print_table

        checks, failed = found.checks, found.failed
        rows = []
        for name, group in groupby(sorted(checks, key=lambda c: c.noise), key=lambda c: c.noise):
            of_it = list(group)
            worst = min(of_it, key=lambda c: c.p_value)
            shown = [c for c in of_it if c in failed] or [worst]
            rows += [[name, str(len(of_it)), c.name, c.statistic, f"{c.p_value:.2g}", "FAILED" * (c in failed)]
                     for c in shown]  # fmt: skip
        print_table(["noise", "checks", "least p-value", "seen", "p-value", ""], rows)
        print(
            "\nlargest |δ|/scale: "
            + ", ".join(f"{name} {value:.3f}" for name, value in found.largest.items())
            + "; float32 noise is bounded, ideal noise is not: see docs/guarantee.md"
        )
        said = f"{len(failed)} of {len(checks)} checks failed" if failed else f"{len(checks)} checks, none failed"
        level = f"level {found.level:.1e} each: a false alarm once in a million runs"
        print(f"{said}  ({found.device}, seed {self.seed}; {level})")
