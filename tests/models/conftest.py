"""Real images where they lie beside the repository; where they do not, the tests that want them say so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def photographs() -> Tensor:
    """64 real CIFAR-10 test images in [0, 1]."""
    sheet = SHARED / "cifar10-webp" / "test_batch.webp"
    if not sheet.is_file():
        pytest.skip(f"needs the real CIFAR-10 images in {sheet.parent}")
    with Image.open(sheet) as image:
        rows = np.asarray(image.crop((0, 0, 64 * 32, 32)).convert("RGB"))
    return torch.from_numpy(rows.reshape(32, 64, 32, 3).transpose(1, 3, 0, 2).copy()).float() / 255


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Threads that spin on a busy machine make these small networks ten times slower."""
    torch.set_num_threads(1)
