"""Several processes that torchrun started: which of them is this one."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from dataclasses import dataclass

from smoothcert.errors import InputError

_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Place:
    """Process number `rank` of `size`, and number `local` on its machine."""

    rank: int = 0
    size: int = 1
    local: int = 0

    @property
    def first(self) -> bool:
        return self.rank == 0


def place() -> Place:
    """Where torchrun put this process; alone if it was not torchrun that started it."""
    if not all(name in os.environ for name in _VARIABLES):
        return Place()
    try:
        here = Place(*(int(os.environ[name]) for name in _VARIABLES[:3]))
    except ValueError:
        here = Place(-1)
    if not (0 <= here.rank < here.size and here.local >= 0):
        said = ", ".join(f"{name}={os.environ[name]}" for name in _VARIABLES[:3])
        raise InputError(f"these variables are meant for torchrun's processes and make no sense: {said}: unset them")
    return here


def die_with_launcher() -> None:
    """End when torchrun ends, also by kill -9: an orphan would hold its locks and work on, unseen (Linux only)."""
    if sys.platform != "linux":
        return
    launcher = os.getppid()
    set_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None, use_errno=True).prctl(set_death_signal, signal.SIGKILL)
    if os.getppid() != launcher:  # it ended before the call
        os.kill(os.getpid(), signal.SIGKILL)
