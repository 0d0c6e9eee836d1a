"""A certification log: a header that names the run, a JSON row per image, each with its own checksum, a closing row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files.jsonl import Kind, Writer, closing_row, encode, linked, read
from smoothcert.files.shown import shown
from smoothcert.files.writing import write_atomically
from smoothcert.records.header import Header, header_of
from smoothcert.records.row import Row, check_row

FORMAT = "smoothcert certification log 1"
KIND = Kind(FORMAT, "a certification log")
REVEALED = ("seed", "salt")
"""of the closing row: see `records.secret_seed`"""


@dataclass(frozen=True)
class CertificationLog:
    """What a certification wrote; `environment` is what was merely there, and decides nothing."""

    path: Path
    name: str
    header: Header
    environment: Mapping[str, Any]
    rows: list[Row]
    size: int = field(default=0, repr=False)
    """bytes up to the end of the last image's row: what a crash left behind it is not part of the log"""
    chain: str = field(default="", repr=False)
    """the hash chain over the header and all rows of the file; empty of a log in parts"""
    closing: Mapping[str, Any] | None = None
    """what the closing row says: rows, chain, ACR, and a secret seed that was revealed; None where there is none"""

    @property
    def decides(self) -> dict[str, Any]:
        """The header as it is written."""
        return self.header.to_json()


def read_certification(path: Path) -> CertificationLog:
    """All whole rows, of a log that may be gzipped; see `files.jsonl.read`."""
    found = read(path, KIND)
    try:
        header = header_of(found.decides)
    except ValueError as error:  # an InputError is one
        raise InputError(f"{path}: its header cannot be used: {error}") from error
    rows = [check_row(f"{path}: line {number}", row, header.labelled) for number, row in enumerate(found.rows, 2)]
    if found.closing is not None and found.closing.get("acr") != (acr := acr_of(header, rows)):
        raise InputError(f"{path}: its closing row says ACR {shown(found.closing.get('acr'))}, but its rows give {acr}")
    return CertificationLog(path, found.name, header, found.environment, rows, found.size, found.chain, found.closing)


def acr_of(header: Header, rows: Sequence[Row]) -> float | None:
    """ACR = mean of radius · 1[correct], rounded once; None without labels, rows, or where radii are of a grid."""
    if header.procedure is None or header.procedure.floors_radii or not rows or not header.labelled:
        return None
    return math.fsum(row["radius"] * row["correct"] for row in rows) / len(rows)


def missing(log: CertificationLog) -> list[int]:
    """Selected images that have no row."""
    present = {row["index"] for row in log.rows}
    return [index for index in log.header.images if index not in present]


def write_log(path: Path, log: CertificationLog) -> CertificationLog:
    """All rows at once, over whatever was there; a crash leaves either the old file or the new one.

    A log with all selected images gets a closing row, with the seed that the old one reveals. Returns the log as
    `read_certification` would now read it.
    """
    header = {"format": FORMAT, "name": log.name, "decides": log.decides, "environment": log.environment}
    lines = [encode(row) for row in (header, *log.rows)]
    size, chain, closing = sum(map(len, lines)), linked(lines), None
    if not missing(log):
        revealed = {key: value for key, value in (log.closing or {}).items() if key in REVEALED}
        row = closing_row(len(log.rows), chain, {"acr": acr_of(log.header, log.rows), **revealed})
        lines.append(encode(row))
        (closing,) = row.values()
    write_atomically(path, b"".join(lines))
    return replace(log, path=path, size=size, chain=chain, closing=closing)


def writer(
    path: Path, name: str, header: Header, environment: Mapping[str, Any], before: CertificationLog | None
) -> Writer:
    return Writer(path, KIND, {"name": name, "decides": header.to_json(), "environment": environment}, before)
