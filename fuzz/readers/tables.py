"""Tables of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz import hostile
from fuzz.readers.base import ZIP, Reader


def gaps_seeds() -> list[bytes]:
    return [hostile.array_npz(gaussian=np.linspace(-1, 1, 9), consistency=np.linspace(0, 1, 5))]


def read_gaps_file(path: Path) -> object:
    from smoothcert.figures.gaps import read_gaps

    return read_gaps(path)


READERS = (Reader("gaps", ".npz", gaps_seeds, read_gaps_file, ZIP, lambda seeds: hostile.npz_files(seeds[0]), 1),)
