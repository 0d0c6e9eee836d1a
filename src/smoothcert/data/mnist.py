"""MNIST and Fashion-MNIST from their IDX files."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smoothcert.data.dataset import Dataset, data_root
from smoothcert.errors import InputError
from smoothcert.files.reading import read_unzipped

_UINT8 = 8
_LIMIT = 2**26  # bytes: MNIST has 47 million; more is not read, whatever a header claims


def load(name: str, folder: str, split: str, root: Path | None = None) -> Dataset:
    """A data set in four IDX files, as torchvision and the original site lay them out."""
    part = {"train": "train", "test": "t10k"}[split]
    images = read_idx(_find(name, folder, f"{part}-images-idx3-ubyte", root), rank=3)
    labels = read_idx(_find(name, folder, f"{part}-labels-idx1-ubyte", root), rank=1)
    return Dataset.of(name, split, images[:, None], labels, num_classes=10)


def _find(name: str, folder: str, file: str, root: Path | None) -> Path:
    base = data_root(root)
    for place in (base / folder / "raw", base / folder, base / name, base):
        for path in (place / file, place / f"{file}.gz", place / file.replace("-idx", ".idx")):
            if path.is_file():
                return path
    raise InputError(
        f"{name}: no {file}[.gz] under {base / folder / 'raw'}: run `smoothcert data fetch {name}`, "
        "or name the folder that holds it with --data or SMOOTHCERT_DATA"
    )


def read_idx(path: Path, rank: int) -> NDArray[np.uint8]:
    """The bytes in an IDX file, raw or gzipped: 0 0 type rank, big-endian sizes, then the bytes.

    Truncated, oversized and foreign files are refused.
    """
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
