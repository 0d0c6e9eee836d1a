"""What must never go off."""

import os
from pathlib import Path
from typing import Any


class Bomb:
    """Makes a folder when unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.marker,)
