"""The IDX format of MNIST: 0 0 type rank, big-endian sizes, then the bytes."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError

_UINT8 = 8
_LIMIT = 2**31  # bytes: MNIST has 47 million; a header that claims more is not believed


def read_idx(path: Path, rank: int) -> NDArray[np.uint8]:
    """The array of bytes in a raw or gzipped IDX file; refuses truncated, oversized and foreign files."""
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            header = file.read(4 + 4 * rank)
            if len(header) < 4 + 4 * rank or header[:2] != b"\0\0" or header[2] != _UINT8 or header[3] != rank:
                raise InputError(f"{path}: not an IDX file of bytes with {rank} dimension(s)")
            shape = struct.unpack(f">{rank}I", header[4:])
            size = math.prod(shape)
            if size > _LIMIT:
                raise InputError(f"{path}: its header claims {size:,} bytes, more than is believed")
            data = file.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read ({error}): fetch it again") from error
    if len(data) != size:
        short = "is truncated" if len(data) < size else "has bytes after its end"
        raise InputError(f"{path}: {short} (its header promises {size:,} bytes): fetch it again")
    return np.frombuffer(bytearray(data), np.uint8).reshape(shape)  # a copy that may be written to
