"""smoothcert gaps"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import Positional

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.model import Model


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
        from smoothcert.reproduction.gaps import gaps_of_runs

        options = {"image": self.image, "draws": self.draws, "seed": self.seed}
        for name, gaps in gaps_of_runs(self.runs, self.out, **options, **self.model.options(self.machine)).items():
            print(f"{name}  image {self.image}  {100 * (gaps < 0).mean():.2f}% of {self.draws:,} draws misclassified")
        print(f"{self.out}  (next: smoothcert figure gaps {self.out})")
