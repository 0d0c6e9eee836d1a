"""train.jsonl: one JSON object per epoch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files.reading import parse_json, read_bytes
from smoothcert.files.writing import write_atomically

PHASES = ("data", "attack", "descent")
"""of a step: an epoch's row has the seconds of each, as `seconds_data` and so on"""
_LIMIT = 2**26  # bytes: an epoch takes half a kilobyte


def write_training_log(path: Path, rows: list[dict[str, Any]]) -> None:
    """The whole log anew: it is small, and so it never disagrees with the checkpoint its rows come from."""
    write_atomically(path, "".join(f"{json.dumps(row)}\n" for row in rows).encode())


def read_training_log(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise InputError(f"{path}: no such file: nothing was trained here")
    data = read_bytes(path, _LIMIT)
    try:
        rows = [parse_json(line) for line in data.splitlines()]
    except ValueError as error:
        raise InputError(f"{path}: not a training log ({error})") from error
    if not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: not a training log (a line is not a JSON object)")
    return rows
