"""Where a process computes: its device and its threads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from smoothcert.errors import InputError
from smoothcert.machine.heap import keep_freed_memory
from smoothcert.machine.processes import die_with_launcher, place

if TYPE_CHECKING:
    import torch


class Where(TypedDict, total=False):
    """Where work is done. Only the kind of device decides anything: each draws its own noise."""

    data: str | Path | None
    """folder that holds data sets (default: $SMOOTHCERT_DATA, else ./data)"""
    device: str | torch.device | None
    """cpu, cuda, cuda:1 or mps (default: the fastest one here)"""
    workers: int | None
    """processes that decode photographs ahead"""
    threads: int | None
    """of the CPU"""


def prepare(where: Where) -> torch.device:
    """Set the number of CPU threads and find the device: by default cuda, else mps, else cpu."""
    import torch

    keep_freed_memory()
    device, threads = where.get("device"), where.get("threads")
    if threads is not None:
        if threads < 1:
            raise InputError(f"--threads must be at least 1, not {threads}")
        torch.set_num_threads(threads)
    here = place()
    if here.size > 1:
        die_with_launcher()
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    best = "cuda" if cuda else "mps" if mps else "cpu"
    name = best if device in (None, "auto") else str(device)
    if name == "cuda" and here.size > 1:
        name = f"cuda:{here.local}"
    try:
        found = torch.device(name)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} cannot be used here: try --device cpu") from error
    return found
