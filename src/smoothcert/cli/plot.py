"""smoothcert plot"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Plot:
    """Certified accuracy against radius, one curve per run or log."""

    logs: Positional[tuple[Path, ...]]
    """run folders or log files"""
    out: Path = Path("certified-accuracy.png")
    """picture to write: .png, .pdf or .svg"""
    title: str | None = None
    """title above the axes (default: number of images, n and alpha)"""

    def __call__(self) -> None:
        from smoothcert.analysis import read_all
        from smoothcert.analysis.plots import plot_curves

        if not self.logs:
            raise InputError("name at least one run folder or log")
        plot_curves(read_all(self.logs), self.out, self.title)
        print(self.out)
