"""One certification in several files: CERTIFY.jsonl and CERTIFY.part-NAME.jsonl beside it, read as one log."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from smoothcert.errors import InputError
from smoothcert.files.jsonl import begun
from smoothcert.files.shown import differences
from smoothcert.records.log import CertificationLog, read_certification
from smoothcert.records.row import Row
from smoothcert.records.run_folder import RunFolder

_MARK = ".part-"


def part_path(log: Path, part: str) -> Path:
    return log.with_name(f"{log.stem}{_MARK}{part}{log.suffix}")


def whole_path(path: Path) -> Path:
    """The log a part is of; of a run folder, its log; any other log is whole already."""
    if path.is_dir():
        return to_read(RunFolder(path).certification_log)
    stem, mark, _ = path.stem.partition(_MARK)
    return path.with_name(f"{stem}{path.suffix}") if mark else path


def to_read(log: Path) -> Path:
    """The log, or where there is none the packed one that a published run has instead."""
    packed = log.with_name(f"{log.name}.gz")
    return packed if packed.is_file() and not files_of(log) else log


def files_of(log: Path) -> list[Path]:
    """The log and its parts, as far as they are there and were begun: a crash can leave a file without a header."""
    beside = log.parent.glob(f"{glob.escape(log.stem + _MARK)}*{glob.escape(log.suffix)}")
    return [path for path in (log, *sorted(beside)) if path.is_file() and begun(path)]


def one_per_log(paths: Iterable[Path]) -> list[Path]:
    """In order; several parts of one log are named once, by the log."""
    return list(dict.fromkeys(path if path.is_dir() else whole_path(path) for path in paths))


def files_of_all(paths: Iterable[Path]) -> list[Path]:
    """All files of the logs that these run folders, logs and parts belong to."""
    return [file for path in paths for file in [path, *files_of(whole_path(path))]]


def read_whole(path: Path) -> CertificationLog:
    """The whole certification that a run folder, a log or one of its parts belongs to."""
    log = whole_path(path)
    return as_one(log, [read_certification(file) for file in files_of(log) or [log]])


def as_one(log: Path, files: Sequence[CertificationLog]) -> CertificationLog:
    """What `files_of` the log hold, taken together."""
    alone = [file.path for file in files] == [log]
    return files[0] if alone else replace(combined(files).log, path=log)


@dataclass(frozen=True)
class Combined:
    """The rows of several logs by image, each image once; `repeated` of them stood in two logs, alike in both."""

    log: CertificationLog
    repeated: tuple[int, ...]


def combined(logs: Sequence[CertificationLog]) -> Combined:
    """Refuses logs of different settings, and two certificates for one image that are not the same."""
    first, kept, repeated = logs[0], dict[int, tuple[Path, Row]](), []
    for log in logs:
        if log.header != first.header:
            raise InputError(
                f"{log.path} and {first.path} were made with different settings "
                f"({differences(log.decides, first.decides, words=('one', 'the other'))}): they cannot be one log"
            )
        for row in log.rows:
            index = row["index"]
            if index not in kept:
                kept[index] = log.path, row
            elif _certificate(row) == _certificate(kept[index][1]):
                repeated.append(index)
            else:
                raise InputError(
                    f"image {index} has different certificates in {log.path} and {kept[index][0]}: "
                    "one of them is wrong; certify it again and delete the wrong line"
                )
    rows = [kept[index][1] for index in sorted(kept)]
    # Closed if all files are; each was checked against its own closing row when it was read.
    said = [log.closing for log in logs if log.closing is not None]
    closing = {key: value for one in said for key, value in one.items()} if len(said) == len(logs) else None
    return Combined(replace(first, rows=rows, size=0, chain="", closing=closing), tuple(repeated))


def _certificate(row: Row) -> dict[str, object]:
    return {key: value for key, value in row.items() if key != "seconds"}
