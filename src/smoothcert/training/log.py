"""train.jsonl: one JSON object per epoch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files import write_atomically


def write_log(path: Path, rows: list[dict[str, Any]]) -> None:
    """The whole log anew: it is small, and so it never disagrees with the checkpoint its rows come from."""
    write_atomically(path, "".join(f"{json.dumps(row)}\n" for row in rows).encode())


def read_training_log(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text().splitlines()]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file: nothing was trained here") from None
    except ValueError as error:
        raise InputError(f"{path}: not a training log ({error})") from error
