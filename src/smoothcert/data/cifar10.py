"""CIFAR-10 in memory, from its binary files or its Python pickles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smoothcert.data.augment import Shifts
from smoothcert.data.dataset import Dataset, data_root
from smoothcert.data.inert_pickle import Inert, as_bytes, read_pickle
from smoothcert.errors import InputError
from smoothcert.files.reading import read_bytes

BINARY, PICKLED = "cifar-10-batches-bin", "cifar-10-batches-py"
PARTS = {"train": tuple(f"data_batch_{number}" for number in range(1, 6)), "test": ("test_batch",)}
PER_FILE = 10_000
_PIXELS = 3 * 32 * 32
_CLASSES = 10
_LIMIT = 32 * 2**20  # bytes of a pickle: the original ones have 31 million

Rows = tuple[NDArray[np.uint8], NDArray[np.int64]]


def load(split: str, root: Path | None = None) -> Dataset:
    """60,000 images of 32×32: 50,000 to train on, with the paper's crop and flip, and 10,000 to test."""
    rows = [_read_part(path) for path in _paths(split, root)]
    images = np.concatenate([images for images, _ in rows]).reshape(-1, 3, 32, 32)
    labels = np.concatenate([labels for _, labels in rows])
    found = Dataset.of("cifar10", split, images, labels, _CLASSES)
    return replace(found, augmentation=Shifts()) if split == "train" else found


def _paths(split: str, root: Path | None) -> list[Path]:
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
    if not path.exists():
        raise InputError(f"{path}: is missing beside the other parts: fetch it again")
    images, labels = _read_binary(path) if path.suffix == ".bin" else _read_pickled(path)
    for label in labels[(labels < 0) | (labels >= _CLASSES)]:
        raise InputError(f"{path}: label {label} is not one of 0 … {_CLASSES - 1}: fetch it again")
    return images, labels


def _read_binary(path: Path) -> Rows:
    """Records of one label byte and 3,072 pixels: red, green, blue, each row by row."""
    size = PER_FILE * (1 + _PIXELS)
    data = read_bytes(path, limit=size + 1)
    if len(data) != size:
        short = "is truncated" if len(data) < size else "has bytes after its end"
        raise InputError(f"{path}: {short} ({size:,} bytes are expected): fetch it again")
    rows = np.frombuffer(data, np.uint8).reshape(PER_FILE, 1 + _PIXELS)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


def _read_pickled(path: Path) -> Rows:
    """A dictionary with `data`, uint8 (10000, 3072), and `labels`, a list of 10,000 numbers."""
    content = read_pickle(path, read_bytes(path, _LIMIT))
    if not isinstance(content, dict):
        raise InputError(f"{path}: a pickled {type(content).__name__}, not a batch of CIFAR-10")
    plain = {key.decode("latin-1") if isinstance(key, bytes) else key: value for key, value in content.items()}
    array, labels = plain.get("data"), plain.get("labels")
    if not isinstance(array, Inert) or not isinstance(labels, list):
        raise InputError(f"{path}: a pickle without the arrays `data` and `labels` of CIFAR-10")
    if len(labels) != PER_FILE or not all(type(label) is int and abs(label) < 2**31 for label in labels):
        raise InputError(f"{path}: {PER_FILE:,} whole numbers are expected as labels: fetch it again")
    return as_bytes(path, array, (PER_FILE, _PIXELS)), np.array(labels, np.int64)
