"""Checksummed JSON lines: a header that says what was made and how, then one row per image."""

from __future__ import annotations

import contextlib
import io
import json
import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from smoothcert.errors import InputError
from smoothcert.records.reading import read_unzipped
from smoothcert.records.run_folder import differences

_LIMIT = 2**30  # bytes: two million images
_PACKED = b"\x1f\x8b"


@dataclass(frozen=True)
class Kind:
    """`format` stands in the header of every log of this kind; `name` is for messages, "a certification log"."""

    format: str
    name: str


@dataclass(frozen=True)
class Log:
    """`decides` holds all that decides the rows; `environment` what was merely there."""

    path: Path
    name: str
    decides: dict[str, Any]
    environment: dict[str, Any]
    rows: list[dict[str, Any]]
    size: int = field(repr=False)
    """bytes up to the end of the last whole row: what a crash left behind it is not part of the log"""


def encode(row: dict[str, Any]) -> bytes:
    text = json.dumps(row, separators=(",", ":"))
    return f'{text[:-1]},"crc":"{zlib.crc32(text.encode()):08x}"}}\n'.encode()


def decode(line: bytes) -> dict[str, Any]:
    """The row, or ValueError if the line is not exactly what `encode` wrote."""
    text, mark, crc = line.decode().rpartition(',"crc":"')
    text += "}"
    if not mark or crc != f'{zlib.crc32(text.encode()):08x}"}}\n':
        raise ValueError("checksum does not match")
    row = json.loads(text)
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    return row


def begun(path: Path) -> bool:
    """Is there a file with a header? A crash can leave one without."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        first = file.readline(_LIMIT)
    return first.endswith(b"\n") or first.startswith(_PACKED)


def read(path: Path, kind: Kind) -> Log:
    """All whole rows, of a log that may be gzipped.

    A torn last line is what a crash leaves and is dropped; damage anywhere else is an error.
    """
    lines = io.BytesIO(read_unzipped(path, _LIMIT)).readlines()
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    if not lines:
        raise InputError(f"{path}: is not {kind.name}: it has no header")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(decode(line))
        except (ValueError, RecursionError) as error:
            if number == 1:
                raise InputError(f"{path}: is not {kind.name} of smoothcert, or its header is damaged") from None
            raise InputError(f"{path}: line {number} is damaged ({error}): restore it or delete that line") from error
    header = rows.pop(0)
    if header.get("format") != kind.format or not isinstance(header.get("decides"), dict):
        raise InputError(f"{path}: is not {kind.name} of smoothcert")
    _refuse_unclear_images(path, rows)
    name = str(header.get("name", path.stem))
    return Log(path, name, header["decides"], header.get("environment", {}), rows, sum(map(len, lines)))


def _refuse_unclear_images(path: Path, rows: list[dict[str, Any]]) -> None:
    seen: set[int] = set()
    for number, row in enumerate(rows, 2):
        index = row.get("index")
        if type(index) is not int or not 0 <= index < 2**53:
            raise InputError(f"{path}: line {number} does not say which image it is of")
        if index in seen:
            raise InputError(f"{path}: line {number} repeats image {index}")
        seen.add(index)


def as_json(value: dict[str, Any]) -> dict[str, Any]:
    """As it is read again: tuples are lists there."""
    found: dict[str, Any] = json.loads(json.dumps(value))
    return found


def refuse_packed(path: Path) -> None:
    """Appending to a gzipped log would destroy it."""
    if path.is_file() and _first(path, len(_PACKED)) == _PACKED:
        raise InputError(f"{path}: is packed and cannot be gone on with: gunzip it, or choose another --out")


def refuse_other_settings(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    if found != wanted:
        differing = differences(found, wanted)
        raise InputError(f"{path}: was made with other settings ({differing}): choose another --out")


class Writer:
    """Appends whole rows to a log of these settings, new or begun earlier, and to no other.

    `before` is what was read of the file, None if it has no header yet. Whoever writes holds `files.sole_owner`, from
    before the reading on.
    """

    def __init__(self, path: Path, kind: Kind, header: dict[str, Any], before: Log | None) -> None:
        """`header` has "decides", "environment" and whatever else the kind of log says of itself."""
        refuse_packed(path)
        if before is not None:
            refuse_other_settings(path, before.decides, as_json(header["decides"]))
        elif path.exists():
            torn = encode({"format": kind.format}).partition(b',"crc"')[0]
            if not torn.startswith(_first(path, len(torn))):
                raise InputError(f"{path}: exists and is not {kind.name}: choose another --out")
        path.parent.mkdir(parents=True, exist_ok=True)
        size = 0 if before is None else before.size
        self._file: IO[bytes] = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(size)
        self._file.seek(size)
        if before is None:
            self.append({"format": kind.format, **header})

    def append(self, row: dict[str, Any]) -> None:
        end = self._file.tell()
        try:
            self._file.write(encode(row))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:  # a full disk: leave the log as it was before this row
            os.ftruncate(self._file.fileno(), end)
            raise

    def close(self) -> None:
        with contextlib.suppress(OSError):  # after a full disk: what could not be written was cut off above
            self._file.close()


def _first(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count)
