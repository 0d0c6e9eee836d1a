"""smoothcert table"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Table:
    """ACR and certified accuracy of runs, of their logs, and of published TSV logs (gzipped or not)."""

    logs: Positional[tuple[Path, ...]]
    """run folders or log files"""
    label: tuple[str, ...] = ()
    """what to call the logs, one word or quoted text for each, in their order (default: told apart by their paths)"""
    radii: tuple[float, ...] = ()
    """radii of the certified accuracies (default: 0, 0.25, … up to the largest)"""
    confidence: float | None = None
    """such as .99: also give lower bounds on the true robust accuracy, of these images and of the population they are
    drawn from; all radii hold together"""
    json: bool = False
    """print one JSON document, a list with an object per log: the same as --format json"""
    format: Literal["terminal", "markdown", "csv", "latex", "json"] = "terminal"
    """how to print it"""
    out: Path | None = None
    """write it to this file instead (markdown unless --format says otherwise)"""

    def __call__(self) -> None:
        from smoothcert.analysis import summarize
        from smoothcert.analysis.metrics import default_radii
        from smoothcert.analysis.tables import FORMATS, cells
        from smoothcert.cli.display import print_table
        from smoothcert.cli.options.logs import readable
        from smoothcert.files.writing import refuse_to_replace, write_atomically
        from smoothcert.records.parts import files_of_all

        if self.json and (self.out is not None or self.format not in ("terminal", "json")):
            raise InputError("--json prints JSON: for a file give --format json --out FILE, and for else only --format")
        if any(not 0 <= r < float("inf") for r in self.radii):
            raise InputError("--radii must be numbers >= 0")
        if self.out is not None:
            refuse_to_replace(self.out, files_of_all(self.logs))
        with readable(self.logs, labels=self.label) as (everything,):
            radii = list(self.radii) or default_radii(list(everything.values()))
            summaries = [summarize(results, radii, self.confidence) for results in everything.values()]
            if self.format == "terminal" and self.out is None and not self.json:
                print_table(*cells(summaries))
                return
            text = FORMATS["json" if self.json else "markdown" if self.format == "terminal" else self.format](summaries)
            if self.out is None:
                print(text, end="")
            else:
                write_atomically(self.out, text.encode())
                print(self.out)
