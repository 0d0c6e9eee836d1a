"""smoothcert merge"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from smoothcert.errors import InputError


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
        from smoothcert.certification.log import read_log, write_log
        from smoothcert.certification.parts import combined, files_of, missing, whole_path
        from smoothcert.files import sole_owner

        if not self.logs:
            raise InputError("name a run folder, or the parts of a log")
        for path in self.logs:
            if not path.exists() and not files_of(whole_path(path)):
                raise InputError(f"{path}: no such file or folder")
        wholes = list(dict.fromkeys(map(whole_path, self.logs)))
        if self.out is None and len(wholes) > 1:
            raise InputError("these are parts of several logs: say with --out where to write")
        out = self.out or wholes[0]
        with sole_owner(out.parent, out.name):
            if self.out is None:  # all of them: a part that was not named must not be lost when parts are deleted
                files = files_of(out)
            else:
                files = [f for path in self.logs for f in ([path] if path.is_file() else files_of(whole_path(path)))]
            if not files:
                raise InputError(f"{self.logs[0]}: holds no certification log")
            found = combined([read_log(file) for file in files])
            gap = missing(found.log)
            if gap and not self.allow_gaps:
                first = ", ".join(map(str, gap[:3])) + (", …" if len(gap) > 3 else "")
                raise InputError(
                    f"{len(gap)} of {len(gap) + len(found.log.rows)} images are missing ({first}): "
                    "certify them, or merge with --allow-gaps"
                )
            if self.out is not None and out.exists() and out not in files:
                raise InputError(f"{out}: exists: choose another --out")
            write_log(out, found.log)
            if self.out is None and not self.keep:
                for file in files:
                    if file != out:
                        file.unlink()
        repeated = f", {len(found.repeated)} of them in two parts alike" if found.repeated else ""
        absent_too = f", {len(gap)} missing" if gap else ""
        print(f"{out}  {len(found.log.rows)} images from {len(files)} files{repeated}{absent_too}")
