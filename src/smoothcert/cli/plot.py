"""smoothcert plot"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True)
class Plot:
    """Certified accuracy against radius, one curve per run or log."""

    logs: Positional[tuple[Path, ...]]
    """run folders or log files"""
    label: tuple[str, ...] = ()
    """what to call the logs, one word or quoted text for each, in their order (default: told apart by their paths)"""
    out: Path = Path("certified-accuracy.png")
    """picture to write: .png, .pdf or .svg"""
    title: str | None = None
    """title above the axes (default: number of images, n and alpha)"""

    def __call__(self) -> None:
        from smoothcert.cli.options.logs import readable
        from smoothcert.figures.curves import plot_curves

        with readable(self.logs, labels=self.label) as (everything,):
            plot_curves(list(everything.values()), self.out, self.title)
            print(self.out)
