"""An audit's log: a header that names what was attacked and how, then one row per certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from smoothcert.records.jsonl import Kind, Writer, begun, read

FORMAT = "smoothcert audit log 1"
KIND = Kind(FORMAT, "an audit log")


def resume(path: Path, decides: dict[str, Any], environment: dict[str, Any]) -> tuple[list[dict[str, Any]], Writer]:
    """The rows of an audit of these settings, new or begun earlier, and who appends to it."""
    before = read(path, KIND) if begun(path) else None
    writer = Writer(path, KIND, {"decides": decides, "environment": environment}, before)
    return ([] if before is None else before.rows), writer
