"""CIFAR-10 in memory, from its binary files or its Python pickles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smoothcert.data.augment import CropAndFlip
from smoothcert.data.dataset import Dataset
from smoothcert.data.folder import data_root
from smoothcert.data.inert_pickle import InertArray, read_pickle
from smoothcert.errors import InputError

URL = "https://www.cs.toronto.edu/~kriz/"
MD5 = {"cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530"}

BINARY, PICKLED = "cifar-10-batches-bin", "cifar-10-batches-py"
PARTS = {"train": tuple(f"data_batch_{number}" for number in range(1, 6)), "test": ("test_batch",)}
PER_FILE = 10_000
_PIXELS = 3 * 32 * 32
_CLASSES = 10
_LIMIT = 32 * 2**20  # bytes of a pickle: the original ones have 31 million

Rows = tuple[NDArray[np.uint8], NDArray[np.int64]]


def load(split: str, root: Path | None = None) -> Dataset:
    """60,000 images of 32×32: 50,000 to train on, with the paper's crop and flip, and 10,000 to test."""
    rows = [_read_part(path) for path in _find(split, root)]
    images = np.concatenate([images for images, _ in rows]).reshape(-1, 3, 32, 32)
    labels = np.concatenate([labels for _, labels in rows])
    return Dataset.of("cifar10", split, images, labels, _CLASSES, CropAndFlip() if split == "train" else None)


def _find(split: str, root: Path | None) -> list[Path]:
    base = data_root(root)
    for folder in (base, base / "cifar10", base / "CIFAR10", base / "cifar-10"):
        for layout, suffix in ((BINARY, ".bin"), (PICKLED, "")):
            paths = [folder / layout / f"{part}{suffix}" for part in PARTS[split]]
            if any(path.is_file() for path in paths):
                return paths
    raise InputError(
        f"cifar10: neither {BINARY}/ nor {PICKLED}/ under {base}: run `smoothcert data fetch cifar10`, "
        "or name the folder that holds it with --data or SMOOTHCERT_DATA"
    )


def _read_part(path: Path) -> Rows:
    images, labels = _read_binary(path) if path.suffix == ".bin" else _read_pickled(path)
    if len(labels) and not (labels.min() >= 0 and labels.max() < _CLASSES):
        wrong = labels[(labels < 0) | (labels >= _CLASSES)][0]
        raise InputError(f"{path}: label {wrong} is not one of 0 … {_CLASSES - 1}: fetch it again")
    return images, labels


def _read_binary(path: Path) -> Rows:
    """Records of one label byte and 3,072 pixels: red, green, blue, each row by row."""
    size = PER_FILE * (1 + _PIXELS)
    data = _read_bytes(path, limit=size)
    if len(data) != size:
        short = "is truncated" if len(data) < size else "has bytes after its end"
        raise InputError(f"{path}: {short} ({size:,} bytes are expected): fetch it again")
    rows = np.frombuffer(data, np.uint8).reshape(PER_FILE, 1 + _PIXELS)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


def _read_pickled(path: Path) -> Rows:
    """A dictionary with `data`, uint8 (10000, 3072), and `labels`, a list of 10,000 numbers."""
    data = _read_bytes(path, limit=_LIMIT)
    if len(data) > _LIMIT:
        raise InputError(f"{path}: more than {_LIMIT:,} bytes is not a batch of CIFAR-10")
    content = read_pickle(path, data)
    if not isinstance(content, dict):
        raise InputError(f"{path}: a pickled {type(content).__name__}, not a batch of CIFAR-10")
    plain = {key.decode("latin-1") if isinstance(key, bytes) else key: value for key, value in content.items()}
    array, labels = plain.get("data"), plain.get("labels")
    if not isinstance(array, InertArray) or not isinstance(labels, list):
        raise InputError(f"{path}: a pickle without the arrays `data` and `labels` of CIFAR-10")
    if len(labels) != PER_FILE or not all(type(label) is int and abs(label) < 2**31 for label in labels):
        raise InputError(f"{path}: {PER_FILE:,} whole numbers are expected as labels: fetch it again")
    return array.as_bytes(path, (PER_FILE, _PIXELS)), np.array(labels, np.int64)


def _read_bytes(path: Path, limit: int) -> bytes:
    """At most one byte more than `limit`, which is enough to see that there are too many."""
    try:
        with path.open("rb") as file:
            return file.read(limit + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: is missing beside the other parts: fetch it again") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
