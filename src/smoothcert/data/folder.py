"""Where data sets are looked for."""

from __future__ import annotations

import os
from pathlib import Path


def data_root(given: Path | None = None) -> Path:
    """--data, else SMOOTHCERT_DATA, else ./data."""
    return given or Path(os.environ.get("SMOOTHCERT_DATA") or "data")
