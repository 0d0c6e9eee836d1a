"""Options about where a command runs, which several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smoothcert.machine.device import Where


@dataclass(frozen=True)
class Machine:
    """Where the command runs. Only the kind of device decides anything: each draws its own noise."""

    data: Path | None = None
    """folder that holds data sets (else SMOOTHCERT_DATA, else ./data)"""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps"""
    workers: int | None = None
    """processes that decode photographs ahead"""
    threads: int | None = None
    """CPU threads, such as 1; on a busy machine fewer can be faster"""

    def where(self) -> Where:
        return {"data": self.data, "device": self.device, "workers": self.workers, "threads": self.threads}
