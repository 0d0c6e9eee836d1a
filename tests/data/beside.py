"""The real data beside the repository, where they are; where they are not, the tests that want them say so."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "shared" / "data" / "unpack.py"


def unpacker() -> Any:
    """The script that lays the data out, as a module."""
    if not SCRIPT.is_file():
        pytest.skip(f"needs the real data that {SCRIPT} unpacks")
    spec = importlib.util.spec_from_file_location("unpack", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
