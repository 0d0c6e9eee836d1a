"""Pickles of arrays and plain values, read by an unpickler that can call nothing."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError
from smoothcert.files.pickle_program import look_through
from smoothcert.files.shown import shown

_LONGEST = 200_000  # opcodes: a batch of CIFAR-10 has forty thousand


class Inert:
    """What a pickle says about an array or a type of numbers: recorded, not acted upon.

    numpy would make room for any shape it is told.
    """

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


def as_bytes(path: Path, array: Inert, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The array, if it is what was expected: uint8, C order, this shape and exactly its bytes."""
    try:
        _, found, dtype, fortran, data = array.state
        kind = dtype.arguments[0]
    except (TypeError, ValueError, AttributeError, IndexError):
        found = kind = data = fortran = None
    if kind not in (b"u1", "u1") or fortran or found != shape:
        raise InputError(f"{path}: its array is not {shape} of bytes: fetch it again")
    if not isinstance(data, bytes) or len(data) != int(np.prod(shape)):
        raise InputError(f"{path}: its array is truncated: fetch it again")
    return np.frombuffer(data, np.uint8).reshape(shape)


def read_pickle(path: Path, data: bytes | bytearray) -> Any:
    """The value in a pickle of Python 2 or 3, its arrays as Inert; what would be called is refused."""
    try:
        look_through(path, data, _LONGEST)
        return _Inert(path, data).load()
    except InputError:
        raise
    except Exception as error:  # a damaged pickle raises whatever its first broken byte leads to
        raise InputError(f"{path}: not a pickle, or truncated ({type(error).__name__}): fetch it again") from error


class _Inert(pickle.Unpickler):
    """Python's unpickler, with nothing to call but what is listed here."""

    def __init__(self, path: Path, data: bytes | bytearray) -> None:
        super().__init__(io.BytesIO(data), encoding="bytes")
        self._path, self._room = path, len(data)
        # Fresh for each file: a pickle may set attributes on what it is given.
        inert = type("Fresh", (Inert,), {})
        self._known: dict[tuple[str, str], Any] = {
            ("numpy", "ndarray"): inert,
            ("numpy", "dtype"): inert,
            ("numpy.core.multiarray", "_reconstruct"): inert,
            ("numpy._core.multiarray", "_reconstruct"): inert,
            ("_codecs", "encode"): self._encode,
        }

    def _encode(self, text: str, encoding: str) -> bytes:
        """Python 3 writes bytes so in the protocols of Python 2, each text once: together no more than the file."""
        self._room -= len(text)
        if type(text) is not str or self._room < 0:
            raise pickle.UnpicklingError("more bytes than the file holds")
        return text.encode("latin-1")

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._known:
            raise InputError(
                f"{self._path}: refused, and nothing in it was executed: its pickle asks for "
                f"{shown(f'{module}.{name}')[1:-1]}, which CIFAR-10 has no use for"
            )
        return self._known[module, name]
