"""A certification log: a header that names the run, then one JSON row per image, each with its own checksum."""

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
from smoothcert.files import write_atomically
from smoothcert.reading import read_unzipped
from smoothcert.run_folder import differences

FORMAT = "smoothcert certification log 1"
_LIMIT = 2**30  # bytes: two million images


@dataclass(frozen=True)
class CertificationLog:
    """`decides` holds all that decides the certificates; `environment` what was merely there."""

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


def read_log(path: Path) -> CertificationLog:
    """All whole rows, of a log that may be gzipped.

    A torn last line is what a crash leaves and is dropped; damage anywhere else is an error.
    """
    lines = io.BytesIO(read_unzipped(path, _LIMIT)).readlines()
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    if not lines:
        raise InputError(f"{path}: holds no certification log")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(decode(line))
        except (ValueError, RecursionError) as error:
            if number == 1:
                raise InputError(f"{path}: not a certification log of smoothcert, or its header is damaged") from None
            raise InputError(f"{path}: line {number} is damaged ({error}): restore it or delete that line") from error
    header = rows.pop(0)
    if header.get("format") != FORMAT or not isinstance(header.get("decides"), dict):
        raise InputError(f"{path}: not a certification log of smoothcert")
    seen: set[Any] = set()
    for number, row in enumerate(rows, 2):
        index = row.get("index")
        if type(index) is not int or not 0 <= index < 2**53:
            raise InputError(f"{path}: line {number} does not say which image it is of")
        if index in seen:
            raise InputError(f"{path}: line {number} repeats image {index}")
        seen.add(index)
    name = str(header.get("name", path.stem))
    return CertificationLog(path, name, header["decides"], header.get("environment", {}), rows, sum(map(len, lines)))


def write_log(path: Path, log: CertificationLog) -> None:
    """All rows at once, over whatever was there; a crash leaves either the old file or the new one."""
    header = {"format": FORMAT, "name": log.name, "decides": log.decides, "environment": log.environment}
    write_atomically(path, b"".join(map(encode, (header, *log.rows))))


def refuse_packed(path: Path) -> None:
    """Appending to a gzipped log would destroy it."""
    if path.is_file() and path.read_bytes()[:2] == b"\x1f\x8b":
        raise InputError(f"{path}: is packed and cannot be gone on with: gunzip it, or choose another --out")


class LogWriter:
    """Appends whole rows to a log of these settings, new or begun earlier, and to no other."""

    def __init__(self, path: Path, name: str, decides: dict[str, Any], environment: dict[str, Any]) -> None:
        refuse_packed(path)
        self.rows: list[dict[str, Any]] = []
        header = encode({"format": FORMAT, "name": name, "decides": decides, "environment": environment})
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and b"\n" in path.read_bytes():
            log = read_log(path)
            # Compared as JSON has it: tuples are lists there.
            wanted = json.loads(json.dumps(decides))
            if log.decides != wanted:
                raise InputError(
                    f"{path}: was made with other settings ({differences(log.decides, wanted)}): choose another --out"
                )
            self.rows, size = log.rows, log.size
        elif path.exists() and not header.startswith(path.read_bytes()[:20]):
            raise InputError(f"{path}: exists and is not a certification log: choose another --out")
        else:
            size = 0
        self._file: IO[bytes] = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(size)
        self._file.seek(size)
        if size == 0:
            self._write(header)

    def append(self, row: dict[str, Any]) -> None:
        self._write(encode(row))
        self.rows.append(row)

    def _write(self, line: bytes) -> None:
        end = self._file.tell()
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:  # a full disk: leave the log as it was before this row
            os.ftruncate(self._file.fileno(), end)
            raise

    def close(self) -> None:
        with contextlib.suppress(OSError):  # after a full disk: what could not be written was cut off above
            self._file.close()
