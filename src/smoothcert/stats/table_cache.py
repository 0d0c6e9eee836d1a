"""Group-sequential tables on disk: built once per (radii, α, n), checked whenever they are read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smoothcert.errors import InputError
from smoothcert.records.reading import read_arrays
from smoothcert.stats.group_sequential import SequentialTable, sequential_table

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION = 1  # raise it whenever group_sequential.py would build a different table from the same request
_LIMIT = 2**26  # bytes: the tables of a hundred radii and a million votes take one
_FIELDS = ("z", "unreachable", "caps", "looks", "accept", "futile")


def cached_table(directory: Path, z: Iterable[float], alpha: float, n: int = 100_000) -> SequentialTable:
    """`sequential_table(z, alpha, n)`, read from `directory` when it is there and sound, else built and kept.

    A file that cannot be read, or whose content does not have the fingerprint it claims, is built anew and
    replaced; a directory that cannot be written to costs time, not the run.
    """
    grid = [float(value) for value in z]
    request = repr((_VERSION, grid, float(alpha), int(n)))
    path = Path(directory) / f"sequential-{hashlib.sha256(request.encode()).hexdigest()[:24]}.npz"
    table = _read(path, request)
    if table is None:
        table = sequential_table(grid, alpha, n)
        with contextlib.suppress(OSError):
            _write(path, request, table)
    return table


def _read(path: Path, request: str) -> SequentialTable | None:
    try:
        stored = read_arrays(path, _LIMIT)
    except InputError:
        return None
    if not stored.keys() >= {"alpha", "request", "fingerprint", *_FIELDS} or str(stored["request"]) != request:
        return None
    if stored["alpha"].shape or any(stored[name].dtype.kind not in "if" for name in ("alpha", *_FIELDS)):
        return None
    table = SequentialTable(alpha=float(stored["alpha"]), **{name: stored[name] for name in _FIELDS})
    return table if str(stored["fingerprint"]) == table.fingerprint else None


def _write(path: Path, request: str, table: SequentialTable) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            arrays = {field: getattr(table, field) for field in _FIELDS}
            np.savez(file, alpha=table.alpha, request=request, fingerprint=table.fingerprint, **arrays)
        os.replace(name, path)  # readers see the old file or the whole new one
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
