"""An audit's log: a header that names what was attacked and how, then one row per certificate."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from smoothcert.certification.log import decode, encode
from smoothcert.errors import InputError
from smoothcert.run_folder import differences

FORMAT = "smoothcert audit log 1"


class AuditLog:
    """Appends whole rows, each with its checksum, to an audit of these settings, new or begun earlier."""

    def __init__(self, path: Path, decides: dict[str, Any], environment: dict[str, Any]) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if lines and not lines[-1].endswith(b"\n"):
            lines.pop()  # what a crash leaves
        if lines:
            header, *self.rows = self._decoded(lines)
            wanted = json.loads(json.dumps(decides))  # tuples are lists there
            if header.get("format") != FORMAT:
                raise InputError(f"{path}: exists and is not an audit of smoothcert: choose another --out")
            if header.get("decides") != wanted:
                differing = differences(header.get("decides"), wanted)
                raise InputError(f"{path}: was made with other settings ({differing}): choose another --out")
        elif path.exists() and path.stat().st_size and not path.read_bytes().startswith(b'{"format":"smoothcert audit'):
            raise InputError(f"{path}: exists and is not an audit of smoothcert: choose another --out")
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(sum(map(len, lines)))
        self._file.seek(0, os.SEEK_END)
        if not lines:
            self._write(encode({"format": FORMAT, "decides": decides, "environment": environment}))

    def append(self, row: dict[str, Any]) -> None:
        self._write(encode(row))
        self.rows.append(row)

    def close(self) -> None:
        self._file.close()

    def _decoded(self, lines: list[bytes]) -> list[dict[str, Any]]:
        rows = []
        for number, line in enumerate(lines, 1):
            try:
                rows.append(decode(line))
            except (ValueError, RecursionError) as error:
                what = "is not an audit of smoothcert" if number == 1 else f"line {number} is damaged ({error})"
                raise InputError(f"{self.path}: {what}: choose another --out") from error
        return rows

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())
