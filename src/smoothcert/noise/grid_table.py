"""64 random bits → an integer of a given law, by inversion: mostly with one look-up of 16 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError
from smoothcert.noise.aes_stream import PADDING, AesStream

_UNDECIDED = -(2**15)  # no value of a law
_REST = np.uint64(48)  # bits of 64 that the first 16 leave

Integers = NDArray[np.int16]


class GridTable:
    """k = −m + #{T ≤ u},  u of 64 bits: so P[k ≤ j] = T_j 2⁻⁶⁴ for the 2m thresholds T_{−m} ≤ … ≤ T_{m−1}.

    The first 16 bits of u decide k where no threshold lies within the 2⁴⁸ numbers that begin with them: all but a few
    per cent. Where one lies there, the other 48 bits are compared with it; where several do, in the tails, all
    thresholds are searched.
    """

    def __init__(self, thresholds: Sequence[int]) -> None:
        self.largest = len(thresholds) // 2
        if self.largest > 2**14:
            raise InputError("noise so wide does not fit the integers it is drawn in: choose a smaller scale, below 7")
        self.thresholds = np.array(thresholds, np.uint64)
        starts = np.arange(2**16, dtype=np.uint64) << _REST
        before = np.searchsorted(self.thresholds, starts, side="right")
        through = np.searchsorted(self.thresholds, starts + np.uint64(2**48 - 1), side="right")
        self._below = (before - self.largest).astype(np.int16)
        """k of the first number that begins with these 16 bits"""
        self._quick = np.where(before == through, self._below, np.int16(_UNDECIDED))
        self._several = through - before > 1
        first = np.append(self.thresholds, np.uint64(0))[before]
        self._cut = np.where(before == through, np.uint64(0), first - starts)

    @property
    def values(self) -> int:
        """How many integers can be drawn: −m … m."""
        return 2 * self.largest + 1

    @property
    def distance(self) -> float:
        """values · 2⁻⁶⁴ ≥ total variation between one draw and its law, of which each threshold was rounded.

        Each of values − 1 thresholds is off by at most 2⁻⁶⁵, and the law gives less than 2⁻⁶⁴ to what lies beyond.
        """
        return self.values * 2.0**-64


class Draws:
    """Fills arrays of up to `size` integers, each from a stream of its own; for one thread, which keeps its memory.

    Of a stream come 16 bits for each integer, little-endian and in order, then 64 bits for each of those that 16 bits
    left undecided, in order, of which the upper 48 are used.
    """

    def __init__(self, table: GridTable, size: int) -> None:
        self._table = table
        self._bytes = bytearray(2 * size + PADDING)
        self._bits = np.frombuffer(self._bytes, "<u2")
        self._zeros = memoryview(bytes(2 * size))

    def fill(self, out: Integers, key: bytes) -> None:
        """Overwrite `out`, contiguous, with the integers of this key; fewer of them are not the first of more."""
        table, flat, stream = self._table, out.reshape(-1), AesStream(key)
        bits = self._bits[: flat.size]
        stream.next_into(self._bytes, self._zeros[: 2 * flat.size])
        np.take(table._quick, bits, out=flat, mode="clip")  # clip: raise would copy `out` first
        undecided = np.flatnonzero(flat == _UNDECIDED)
        start = bits[undecided]
        rest = np.frombuffer(stream.next(8 * len(undecided)), "<u8") >> np.uint64(16)
        found = table._below[start] + (rest >= table._cut[start])
        (far,) = np.nonzero(table._several[start])
        u = (start[far].astype(np.uint64) << _REST) | rest[far]
        found[far] = np.searchsorted(table.thresholds, u, side="right") - table.largest
        flat[undecided] = found
