"""Stopwatch: what a training costs, in seconds by phase; and peak memory."""

from __future__ import annotations

import sys
import time

import torch

from smoothcert.records.training_log import PHASES

_SAMPLE = 10


class Stopwatch:
    """Seconds spent on each phase of the steps.

    An accelerator works behind the host's back, and asking for the time means waiting for it: there, only every
    tenth step is measured, and the shares of those steps stand for all.
    """

    def __init__(self, device: torch.device) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._device = device
        self._last: float | None = None

    def begin(self, step: int) -> None:
        measured = self._device.type == "cpu" or step % _SAMPLE == 0
        self._last = self._now() if measured else None

    def lap(self, phase: str) -> None:
        if self._last is not None:
            now = self._now()
            self.seconds[phase] += now - self._last
            self._last = now

    def _now(self) -> float:
        if self._device.type != "cpu":
            torch.accelerator.synchronize(self._device)
        return time.perf_counter()


def peak_memory(device: torch.device) -> dict[str, int]:
    """Largest resident memory of the process so far in bytes, and on CUDA the largest allocation on the device."""
    found = {}
    if sys.platform != "win32":
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found["peak_memory_process"] = peak if sys.platform == "darwin" else 1024 * peak
    if device.type == "cuda":
        found["peak_memory_device"] = torch.cuda.max_memory_allocated(device)
    return found
