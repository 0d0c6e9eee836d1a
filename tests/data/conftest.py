"""Real data where they lie beside the repository; where they do not, the tests that want them say so."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def real_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with all of CIFAR-10 and 1,500 photographs of ten ImageNet classes."""
    script = SHARED / "unpack.py"
    if not script.is_file():
        pytest.skip(f"needs the real data that {script} unpacks")
    root = tmp_path_factory.mktemp("data")
    spec = importlib.util.spec_from_file_location("unpack", script)
    assert spec is not None and spec.loader is not None
    unpack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(unpack)
    unpack.cifar10(root / "cifar-10-batches-bin")
    unpack.imagenette(root / "imagenette")
    return root
