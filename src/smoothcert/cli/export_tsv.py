"""smoothcert export-tsv"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True)
class ExportTsv:
    """Write a certification as the community's TSV: idx, label, predict, radius, correct, time.

    Radii keep full precision, so that they are read back as they were. --digits 3 looks like the published logs, but
    is cut off where those round: a radius printed here is never larger than the certified one.
    """

    log: Positional[Path]
    """run folder or log file"""
    out: Path | None = None
    """file to write (default: the log's name with .tsv, beside it)"""
    digits: int | None = None
    """significant digits of the radii, cut off (default: all)"""

    def __call__(self) -> None:
        from smoothcert.analysis import read_results
        from smoothcert.analysis.export import to_tsv
        from smoothcert.files.writing import refuse_to_replace, write_atomically
        from smoothcert.records.parts import files_of_all

        results = read_results(self.log)
        beside = self.log / "certify.tsv" if self.log.is_dir() else self.log.with_suffix(".tsv")
        out = self.out or beside
        refuse_to_replace(out, files_of_all([self.log]))
        write_atomically(out, to_tsv(results, self.digits).encode())
        print(out)
