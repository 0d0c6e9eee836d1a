"""smoothcert merge"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True)
class Merge:
    """Join the parts of a certification that several processes made into one log, each image once, in order.

    Reading needs no merging: every command takes a run whose log is in parts. Refused are parts of different settings,
    two different certificates for one image, and logs in which selected images are missing.
    """

    logs: Positional[tuple[Path, ...]]
    """a run folder, or the logs and parts themselves, wherever they were copied from"""
    out: Path | None = None
    """log to write (default: the log the parts are of; the parts are then deleted, for it holds them)"""
    keep: bool = False
    """keep the parts"""
    allow_gaps: bool = False
    """merge also if images are still missing"""

    def __call__(self) -> None:
        from smoothcert.certification.merge import merge

        done = merge(self.logs, self.out, self.keep, self.allow_gaps)
        again = len(done.found.repeated)
        repeated = f", {again} of them in two parts alike" if again else ""
        absent_too = f", {len(done.missing)} missing" if done.missing else ""
        print(f"{done.out}  {len(done.found.log.rows)} images from {len(done.files)} files{repeated}{absent_too}")
