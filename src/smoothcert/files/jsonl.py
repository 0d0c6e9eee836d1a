"""Checksummed JSON lines: a header that says what was made and how, one row per image, and at the end a closing row.

The closing row has the number of rows and the end of a hash chain over all lines before it, h ← SHA-256(h ‖ line): a
line that is changed, moved, removed or added afterwards does not fit it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from smoothcert.errors import InputError
from smoothcert.files.reading import read_unzipped
from smoothcert.files.shown import differences, shown

_LIMIT = 2**30  # bytes: two million images
_PACKED = b"\x1f\x8b"
_CLOSING = "closing"


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
    """bytes up to the end of the last image's row: what a crash left behind it is not part of the log"""
    chain: str = field(repr=False)
    """the hash chain over the header and all rows"""
    closing: dict[str, Any] | None
    """what the closing row says; None of a log that is not finished, or older than closing rows"""


class Begun(Protocol):
    """As much of a log as who goes on with it must know."""

    @property
    def decides(self) -> dict[str, Any]: ...
    @property
    def size(self) -> int: ...
    @property
    def rows(self) -> Sized: ...
    @property
    def chain(self) -> str: ...
    @property
    def closing(self) -> Mapping[str, Any] | None: ...


def encode(row: Mapping[str, Any]) -> bytes:
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


def linked(lines: Iterable[bytes], chain: str = "") -> str:
    """The hash chain after these lines, begun by earlier ones or by none."""
    for line in lines:
        chain = hashlib.sha256(bytes.fromhex(chain) + line).hexdigest()
    return chain


def closing_row(rows: int, chain: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """The last row of a finished log; `more` is what its kind of log says there."""
    return {_CLOSING: {"rows": rows, "chain": chain, **more}}


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
    closed = bool(rows) and _CLOSING in rows[-1]
    closing = rows.pop()[_CLOSING] if closed else None
    before = lines[:-1] if closed else lines
    chain = linked(before)
    if closed:
        _refuse_wrong_closing(path, closing, len(rows), chain)
    refuse_unclear_images(path, rows)
    name, environment = str(header.get("name", path.stem)), header.get("environment")
    environment = environment if isinstance(environment, dict) else {}
    return Log(path, name, header["decides"], environment, rows, sum(map(len, before)), chain, closing)


def _refuse_wrong_closing(path: Path, closing: Any, rows: int, chain: str) -> None:
    advice = "restore it, or delete its last line and certify what is missing"
    if not isinstance(closing, dict) or type(closing.get("rows")) is not int:
        raise InputError(f"{path}: its closing row cannot be read: {advice}")
    if closing["rows"] != rows:
        raise InputError(f"{path}: has {rows} rows, but its closing row says {shown(closing['rows'])}: {advice}")
    if closing.get("chain") != chain:
        raise InputError(f"{path}: was changed after it was finished (its closing row does not fit): {advice}")


def refuse_unclear_images(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Each row, from line 2 on, must be of one image, and of no other row's."""
    seen: set[int] = set()
    for number, row in enumerate(rows, 2):
        index = row.get("index")
        if _CLOSING in row:
            raise InputError(f"{path}: line {number} is a closing row, but more follows: delete that line")
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

    def __init__(self, path: Path, kind: Kind, header: Mapping[str, Any], before: Begun | None) -> None:
        """`header` has "decides", "environment" and whatever else the kind of log says of itself."""
        refuse_packed(path)
        if before is not None:
            refuse_other_settings(path, before.decides, as_json(header["decides"]))
        elif path.exists():
            torn = encode({"format": kind.format}).partition(b',"crc"')[0]
            if not torn.startswith(_first(path, len(torn))):
                raise InputError(f"{path}: exists and is not {kind.name}: choose another --out")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rows, self._chain = (0, "") if before is None else (len(before.rows), before.chain)
        self._closed = before is not None and before.closing is not None
        self._file: IO[bytes] = path.open("r+b" if path.exists() else "w+b")
        self._file.seek(0 if before is None else before.size)
        if before is None:
            self._write(encode({"format": kind.format, **header}))

    def append(self, row: Mapping[str, Any]) -> None:
        self._write(encode(row))
        self._rows += 1

    def finish(self, more: Mapping[str, Any]) -> None:
        """Write the closing row; one that is there, with no row appended since, stays as it is."""
        if not self._closed:
            self._write(encode(closing_row(self._rows, self._chain, more)))
            self._closed = True

    def _write(self, line: bytes) -> None:
        """In place of what stands behind the last row: a closing row that is one no more, or what a crash left."""
        end = self._file.tell()
        try:
            self._file.truncate()
            self._closed = False
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:  # a full disk: leave the log as it was before this row
            os.ftruncate(self._file.fileno(), end)
            raise
        self._chain = linked([line], self._chain)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # after a full disk: what could not be written was cut off above
            self._file.close()


def _first(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count)
