"""A certification log: a header that names the run, then one JSON row per image, each with its own checksum."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from smoothcert.records.files import write_atomically
from smoothcert.records.jsonl import Kind, Log, Writer, encode, read

FORMAT = "smoothcert certification log 1"
KIND = Kind(FORMAT, "a certification log")
CertificationLog = Log


def read_log(path: Path) -> CertificationLog:
    """All whole rows; see `records.jsonl.read`."""
    return read(path, KIND)


def write_log(path: Path, log: CertificationLog) -> CertificationLog:
    """All rows at once, over whatever was there; a crash leaves either the old file or the new one.

    Returns the log as `read_log` would now read it.
    """
    header = {"format": FORMAT, "name": log.name, "decides": log.decides, "environment": log.environment}
    data = b"".join(map(encode, (header, *log.rows)))
    write_atomically(path, data)
    return replace(log, path=path, size=len(data))


def writer(
    path: Path, name: str, decides: dict[str, Any], environment: dict[str, Any], before: CertificationLog | None
) -> Writer:
    return Writer(path, KIND, {"name": name, "decides": decides, "environment": environment}, before)
