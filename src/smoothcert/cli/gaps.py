"""smoothcert gaps"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from smoothcert.cli.machine import Machine
from smoothcert.cli.model import Model
from smoothcert.errors import InputError


@dataclass(frozen=True)
class Gaps:
    """Log-probability gaps of one test image over many noise draws, one array per run (figure 1 of the paper)."""

    runs: Positional[tuple[str, ...]]
    """run folders, or models"""
    image: int = 0
    """index of the test image"""
    draws: int = 10_000
    """noise draws: the same ones for every run"""
    seed: int = 0
    """decides the noise, together with the image's index"""
    out: Path = Path("gaps.npz")
    """file to write, for `smoothcert figure gaps FILE`"""
    model: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        import io

        import numpy as np

        from smoothcert.certification.target import open_target
        from smoothcert.records.files import write_atomically
        from smoothcert.reproduction.gaps import gaps_at

        if not self.runs:
            raise InputError("name at least one run folder")
        device = self.machine.ready()
        targets = [open_target(run, device, self.model.wishes()) for run in self.runs]
        names = [target.name for target in targets]
        if len(set(names)) < len(names):
            raise InputError(f"two runs have the same name: {', '.join(names)}")
        found: dict[str, Any] = {}
        for target in targets:
            if target.data is None:
                raise InputError(f"{target.name}: does not say its data: name a data set with --dataset")
            test_set = self.machine.load(target.data, "test")
            found[target.name] = gaps_at(target, test_set, self.image, self.draws, self.seed, device)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **found)
        write_atomically(self.out, buffer.getvalue())
        for name, gaps in found.items():
            print(f"{name}  image {self.image}  {100 * (gaps < 0).mean():.2f}% of {self.draws:,} draws misclassified")
        print(f"{self.out}  (next: smoothcert figure gaps {self.out})")
