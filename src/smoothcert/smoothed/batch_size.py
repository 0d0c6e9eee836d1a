"""How many votes a forward pass should hold: tried on real votes, so that trying costs next to nothing."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import numpy as np
import torch

_TRIALS = 4  # of each size, the least time counts; the first of them also chooses kernels and allocates
_LEAST, _MOST, _NUMBERS = 16, 512, 2**22  # of votes in a pass, and of numbers; 16 times as many votes off the CPU


class BatchSize:
    """The least time per vote among a few sizes; a size that was given is kept.

    Half a block of noise is the smallest that is tried: on a CPU the activations of a deep network then stay near the
    core. Larger ones are whole blocks.
    """

    def __init__(self, shape: tuple[int, ...], block: int, given: int | None, device: torch.device) -> None:
        larger = 1 if device.type == "cpu" else 16
        most = larger * min(_MOST, _NUMBERS // max(1, int(np.prod(shape))))
        sizes = [block * 2**i // 2 for i in range(15) if _LEAST <= block * 2**i // 2 <= most] or [block]
        self.shape, self.device = shape, device
        self.sizes = [given] if given is not None else sizes[-4:]
        self._trials = [] if given is not None else [s for _ in range(_TRIALS) for s in self.sizes]
        self._begun: list[int] = []  # trials handed out by `next`, and not yet timed
        self._seconds: dict[int, float] = {}  # least per vote, by size
        self._lock = threading.Lock()

    @property
    def largest(self) -> int:
        return max(self.sizes)

    @property
    def now(self) -> int:
        """The smallest size that is not clearly slower than the fastest so far: timings scatter."""
        if not self._seconds:
            return self.sizes[0]
        enough = 1.02 * min(self._seconds.values())
        return min(size for size, seconds in self._seconds.items() if seconds <= enough)

    def next(self, left: int) -> int:
        """The size of the next batch, of `left` votes still to come: a size they cannot fill is not tried on them."""
        with self._lock:
            trial = next((size for size in self._trials if size <= left), None)
            if trial is None:
                return self.now
            self._trials.remove(trial)
            self._begun.append(trial)
            return trial

    @contextlib.contextmanager
    def timed(self, size: int, rows: int) -> Iterator[None]:
        """Time the passes of `rows` votes, if their size is on trial; a batch that does not fill one is not timed."""
        with self._lock:
            on_trial = size in self._begun
            if on_trial:
                self._begun.remove(size)
            on_trial = on_trial and rows >= size
        if not on_trial:
            yield
            return
        self._wait()
        start = time.perf_counter()
        yield
        self._wait()
        taken = (time.perf_counter() - start) / rows
        with self._lock:
            self._seconds[size] = min(taken, self._seconds.get(size, taken))

    def _wait(self) -> None:
        if self.device.type in ("cuda", "mps"):
            getattr(torch, self.device.type).synchronize()
