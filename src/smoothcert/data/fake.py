"""fake: ten noisy patterns, small enough for tests that train and certify in a second."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from smoothcert.data.dataset import Dataset

_SIZE = {"train": 320, "test": 40}


def load(split: str, root: Path | None = None) -> Dataset:
    coarse = np.random.Generator(np.random.PCG64(0)).random((10, 1, 4, 4)) > 0.5
    patterns = np.kron(coarse, np.ones((1, 1, 7, 7)))
    rng = np.random.Generator(np.random.PCG64(1 + (split == "test")))
    labels = np.arange(_SIZE[split]) % 10
    images = 0.7 * patterns[labels] + 0.3 * rng.random((len(labels), 1, 28, 28))
    return Dataset.of("fake", split, (255 * images).astype(np.uint8), labels, num_classes=10)
