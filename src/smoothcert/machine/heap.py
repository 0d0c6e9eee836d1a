"""The C library's heap."""

from __future__ import annotations

import ctypes
from functools import cache

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # names of <malloc.h>
_NEVER = 2**31 - 1


@cache
def keep_freed_memory() -> None:
    """Freed memory stays with the process, up to 2 GiB of it.

    A training step frees what the next one asks for again. glibc gives it back to the system in between, which then
    clears every page anew: about a sixth of a LeNet's step on a CPU (bench/heap.py). Elsewhere nothing is done.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, TypeError):  # not glibc; Windows
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, _NEVER)
