"""smoothcert report"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Report:
    """One HTML page about runs and logs (TSV too) that opens offline: what is promised, what it rests on, all numbers.

    Every certificate is computed again from its votes, and the page says whether they follow, as `verify` does.

    Example: smoothcert report runs/my-run --radius 0.5 --out report.html
    """

    logs: Positional[tuple[Path, ...]]
    """run folders or log files"""
    label: tuple[str, ...] = ()
    """what to call the logs, one word or quoted text for each, in their order (default: told apart by their paths)"""
    out: Path = Path("report.html")
    """page to write"""
    title: str = "smoothcert report"
    """heading of the page"""
    radius: float | None = None
    """radius of the sentence at the head, such as 0.5: choose it before you see results (default: the noise's σ)"""
    confidence: float = 0.99
    """of that sentence"""
    public_key: Path | None = None
    """the owner of this key must have signed each log (see `smoothcert sign`)"""
    paper: tuple[str, ...] = ()
    """printed row to stand beside each log, in their order: TABLE:ROW such as 6:8, auto, or none"""
    data: Path | None = None
    """folder that holds data sets, for the pictures (else SMOOTHCERT_DATA, else ./data)"""
    no_pictures: bool = False
    """leave the test images out; else they are shown where their data set is on this machine"""

    def __call__(self) -> None:
        from smoothcert.cli.options.logs import readable
        from smoothcert.files.writing import refuse_to_replace, write_atomically
        from smoothcert.paper import find_row
        from smoothcert.records.parts import files_of_all, one_per_log
        from smoothcert.report.entry import entry_of, gallery_pictures
        from smoothcert.report.page import render

        refuse_to_replace(self.out, files_of_all(self.logs))
        logs = one_per_log(self.logs)
        if len(self.paper) > len(logs):
            raise InputError(f"--paper names {len(self.paper)} rows for {len(logs)} logs")
        words = [*self.paper, *["auto"] * (len(logs) - len(self.paper))]
        with readable(self.logs, labels=self.label) as (read,):
            pairs = [(read[path], word) for path, word in zip(logs, words, strict=True) if path in read]
            entries = []
            for results, word in pairs:
                rows = None if word == "auto" else () if word == "none" else (find_row(word),)
                pictures = {} if self.no_pictures else gallery_pictures(results, self.data)
                entries.append(entry_of(results, rows, pictures, self.public_key))
            page = render(entries, self.title, self.radius, self.confidence)
            write_atomically(self.out, page.encode())
            print(self.out)
