"""Tables of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz import hostile
from fuzz.readers.base import ZIP, Reader
from smoothcert.errors import InputError

REQUEST = "request"


def table_seeds() -> list[bytes]:
    from smoothcert.stats.group_sequential import sequential_table

    table = sequential_table([0.0, 1.0], 0.001, 300)
    fields = {name: getattr(table, name) for name in ("z", "unreachable", "caps", "looks", "accept", "futile")}
    return [hostile.array_npz(alpha=table.alpha, request=REQUEST, fingerprint=table.fingerprint, **fields)]


def read_table(path: Path) -> object:
    """None is how a cache says no: the table is then built anew."""
    from smoothcert.stats.table_cache import _read

    table = _read(path, REQUEST)
    if table is None:
        raise InputError("not sound")
    return table


def gaps_seeds() -> list[bytes]:
    return [hostile.array_npz(gaussian=np.linspace(-1, 1, 9), consistency=np.linspace(0, 1, 5))]


def read_gaps_file(path: Path) -> object:
    from smoothcert.analysis.gaps import read_gaps

    return read_gaps(path)


READERS = (
    Reader("table-cache", ".npz", table_seeds, read_table, ZIP, lambda seeds: hostile.npz_files(seeds[0]), 1),
    Reader("gaps", ".npz", gaps_seeds, read_gaps_file, ZIP, lambda seeds: hostile.npz_files(seeds[0]), 1),
)  # fmt: skip
