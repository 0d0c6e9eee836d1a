"""The parts of a certification → one log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from smoothcert.errors import InputError
from smoothcert.files.writing import sole_owner
from smoothcert.records.log import missing, read_certification, write_log
from smoothcert.records.parts import Combined, combined, files_of, whole_path


@dataclass(frozen=True)
class Merged:
    """What was written to `out`, from which files, and the selected images that are in none of them."""

    out: Path
    files: tuple[Path, ...]
    found: Combined
    missing: tuple[int, ...]


def merge(logs: Sequence[Path], out: Path | None = None, keep: bool = False, allow_gaps: bool = False) -> Merged:
    """Write all rows of these logs, parts or run folders to one log, each image once, in order.

    Without `out` that is the log they are parts of; the parts are then deleted unless `keep`. Refuses parts of
    different settings, different certificates of one image, and missing images unless `allow_gaps`.
    """
    if not logs:
        raise InputError("name a run folder, or the parts of a log")
    for path in logs:
        if not path.exists() and not files_of(whole_path(path)):
            raise InputError(f"{path}: no such file or folder")
    wholes = list(dict.fromkeys(map(whole_path, logs)))
    if out is None and len(wholes) > 1:
        raise InputError("these are parts of several logs: say with --out where to write")
    if out is None and wholes[0].suffix == ".gz":
        raise InputError(f"{wholes[0]}: is packed, and stays as it is: say with --out where to write")
    to = out or wholes[0]
    with sole_owner(to.parent, to.name):
        if out is None:  # all of them: a part that was not named must not be lost when parts are deleted
            files = files_of(to)
        else:
            files = [f for path in logs for f in ([path] if path.is_file() else files_of(whole_path(path)))]
        if not files:
            raise InputError(f"{logs[0]}: holds no certification log")
        found = combined([read_certification(file) for file in files])
        gap = missing(found.log)
        if gap and not allow_gaps:
            first = ", ".join(map(str, gap[:3])) + (", …" if len(gap) > 3 else "")
            raise InputError(
                f"{len(gap)} of {len(gap) + len(found.log.rows)} images are missing ({first}): "
                "certify them, or merge with --allow-gaps"
            )
        if out is not None and out.exists() and out not in files:
            raise InputError(f"{out}: exists: choose another --out")
        write_log(to, found.log)
        if out is None and not keep:
            for file in files:
                if file != to:
                    file.unlink()
    return Merged(to, tuple(files), found, tuple(gap))
