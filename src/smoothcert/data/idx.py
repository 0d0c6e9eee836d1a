"""The IDX format of MNIST: 0 0 type rank, big-endian sizes, then the bytes."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError
from smoothcert.records.reading import read_unzipped

_UINT8 = 8
_LIMIT = 2**26  # bytes: MNIST has 47 million; more is not read, whatever a header claims


def read_idx(path: Path, rank: int) -> NDArray[np.uint8]:
    """The array of bytes in a raw or gzipped IDX file; refuses truncated, oversized and foreign files."""
    try:
        content = read_unzipped(path, _LIMIT)
    except InputError as error:
        raise InputError(f"{error}: fetch it again") from error
    start = 4 + 4 * rank
    if len(content) < start or content[:4] != bytes((0, 0, _UINT8, rank)):
        raise InputError(f"{path}: not an IDX file of bytes with {rank} dimension(s)")
    shape = struct.unpack(f">{rank}I", content[4:start])
    size = math.prod(shape)
    if size > _LIMIT:
        raise InputError(f"{path}: its header claims {size:,} bytes, more than is believed")
    if len(content) - start != size:
        short = "is truncated" if len(content) - start < size else "has bytes after its end"
        raise InputError(f"{path}: {short} (its header promises {size:,} bytes): fetch it again")
    if not size:
        raise InputError(f"{path}: holds nothing (its header says {shape}): fetch it again")
    del content[:start]  # the bytes that are left may be written to
    return np.frombuffer(content, np.uint8).reshape(shape)
