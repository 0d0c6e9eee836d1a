"""The community's certification logs: tab-separated columns idx, label, predict, radius, correct, time; no header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files.jsonl import refuse_unclear_images
from smoothcert.files.reading import read_unzipped
from smoothcert.records.header import UNSTATED
from smoothcert.records.log import CertificationLog
from smoothcert.records.row import Row, check_row

_COLUMNS = {"idx": "index", "label": "label", "predict": "predict", "radius": "radius", "correct": "correct"}
_LIMIT = 2**25  # bytes of an unpacked log: ten thousand images take half a megabyte


def read_tsv(path: Path) -> CertificationLog:
    """All rows, under a header that states nothing; a last row that the writer was cut off in is left out."""
    try:
        text = read_unzipped(path, _LIMIT).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read ({error.reason})") from error
    lines = text.splitlines()
    columns = lines[0].split("\t") if lines else []
    if not _COLUMNS.keys() <= set(columns):
        raise InputError(f"{path}: not a certification log (a TSV log has the columns {', '.join(_COLUMNS)})")
    if not text.endswith("\n") and lines[-1].count("\t") < len(columns) - 1:
        lines.pop()
    rows = [_row(f"{path}: line {number}", columns, line) for number, line in enumerate(lines[1:], 2)]
    refuse_unclear_images(path, rows)
    return CertificationLog(path, path.name, UNSTATED, {}, rows)


def _row(where: str, columns: list[str], line: str) -> Row:
    cells = dict(zip(columns, line.split("\t"), strict=False))
    try:
        row: dict[str, Any] = {
            key: (float if key == "radius" else int)(cells[column]) for column, key in _COLUMNS.items()
        }
    except (ValueError, KeyError):
        raise InputError(f"{where} is not a row of a certification log") from None
    seconds = _seconds(cells.get("time", ""))
    return check_row(where, row if seconds is None else row | {"seconds": seconds})


def _seconds(cell: str) -> float | None:
    """H:MM:SS.ffffff as Python prints a timedelta; the column is a courtesy, so what is not one is just unknown."""
    try:
        hours, minutes, seconds = map(float, cell.split(":"))
    except ValueError:
        return None
    total = 3600 * hours + 60 * minutes + seconds
    return total if 0 <= total < 1e15 else None
