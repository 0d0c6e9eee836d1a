"""Options about where a command runs, which several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from smoothcert.errors import InputError
from smoothcert.machine.heap import keep_freed_memory
from smoothcert.machine.processes import die_with_launcher, place

if TYPE_CHECKING:
    import torch

    from smoothcert.data import ImageSet


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
    """CPU threads; on a busy machine fewer can be faster"""

    def ready(self) -> torch.device:
        """Set the number of threads and find the device."""
        import torch

        keep_freed_memory()
        if self.threads is not None:
            if self.threads < 1:
                raise InputError(f"--threads must be at least 1, not {self.threads}")
            torch.set_num_threads(self.threads)
        here = place()
        if here.size > 1:
            die_with_launcher()
        cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
        name = self.device if self.device != "auto" else "cuda" if cuda else "mps" if mps else "cpu"
        if name == "cuda" and here.size > 1:
            name = f"cuda:{here.local}"
        try:
            device = torch.device(name)
            torch.empty(1, device=device)
        except (RuntimeError, AssertionError) as error:
            raise InputError(f"device {name!r} cannot be used here: try --device cpu") from error
        return device

    def load(self, name: str, split: str) -> ImageSet:
        from smoothcert.data import load

        return load(name, split, self.data, self.workers)
