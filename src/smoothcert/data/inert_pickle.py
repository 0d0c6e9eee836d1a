"""Pickles of arrays and plain values, read by an unpickler that can call nothing."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError
from smoothcert.records.reading import shown

_HASHING = (pickle.FROZENSET, pickle.ADDITEMS)  # see _Inert._set_items
_GROWING = (pickle.BYTEARRAY8,)  # makes room for as many bytes as the file names


class InertArray:
    """What a pickle says about an array: recorded, not acted upon."""

    def __init__(self, *arguments: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def as_bytes(self, path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """The array, if it is what was expected: uint8, C order, this shape and exactly its bytes."""
        state = self.state if isinstance(self.state, tuple) and len(self.state) == 5 else (None,) * 5
        _, found, dtype, fortran, data = state
        if not isinstance(dtype, InertDtype) or dtype.name not in (b"u1", "u1") or fortran or found != shape:
            raise InputError(f"{path}: its array is not {shape} of bytes: fetch it again")
        if not isinstance(data, bytes) or len(data) != int(np.prod(shape)):
            raise InputError(f"{path}: its array is truncated: fetch it again")
        return np.frombuffer(data, np.uint8).reshape(shape)


class InertDtype:
    """What a pickle says about a type of numbers."""

    def __init__(self, name: Any = None, *arguments: Any) -> None:
        self.name = name

    def __setstate__(self, state: Any) -> None:
        pass


def read_pickle(path: Path, data: bytes) -> Any:
    """The value in a pickle of Python 2 or 3, its arrays as InertArray; what would be called is refused."""
    try:
        return _Inert(path, data).load()
    except InputError:
        raise
    except Exception as error:  # a damaged pickle raises whatever its first broken byte leads to
        raise InputError(f"{path}: not a pickle, or truncated ({type(error).__name__}): fetch it again") from error


class _Limited(dict[int, Any]):
    """Opcodes, but not for ever: each takes a microsecond, and a batch of CIFAR-10 has forty thousand."""

    left = 500_000

    def __getitem__(self, code: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise pickle.UnpicklingError("more opcodes than a batch has")
        return super().__getitem__(code)


class _Inert(pickle._Unpickler):
    """The unpickler written in Python: the one in C allocates whatever size a damaged file names."""

    stack: list[Any]
    pop_mark: Callable[[], list[Any]]

    def __init__(self, path: Path, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="bytes")
        self._path = path
        # Fresh for each file: a pickle may set attributes on what it is given.
        array, dtype = type("Array", (InertArray,), {}), type("Dtype", (InertDtype,), {})
        self._known: dict[tuple[str, str], Any] = {
            ("numpy", "ndarray"): array,
            ("numpy", "dtype"): dtype,
            ("numpy.core.multiarray", "_reconstruct"): array,
            ("numpy._core.multiarray", "_reconstruct"): array,
            ("_codecs", "encode"): self._encode,
        }
        self._room = len(data)
        self.dispatch = _Limited(_Inert.dispatch)  # type: ignore[misc]  # a count for each file

    def _encode(self, text: str, encoding: str) -> bytes:
        """Python 3 writes bytes so in the protocols of Python 2, each text once: together no more than the file."""
        self._room -= len(text)
        if type(text) is not str or self._room < 0:
            raise pickle.UnpicklingError("more bytes than the file holds")
        return text.encode("latin-1")

    def find_class(self, module: str, name: str) -> Any:
        if not name:
            raise EOFError("the file ends within a name")
        if (module, name) not in self._known:
            raise InputError(
                f"{self._path}: refused, and nothing in it was executed: its pickle asks for "
                f"{shown(f'{module}.{name}')[1:-1]}, which CIFAR-10 has no use for"
            )
        return self._known[module, name]

    def get_extension(self, code: int) -> None:
        raise InputError(f"{self._path}: refused: its pickle uses a registered extension")

    def _set_items(self, items: list[Any]) -> None:
        """Names alone may be keys: hashing a tuple nested a million deep would end the process."""
        target = self.stack[-1]
        if type(target) is not dict or not all(type(key) in (str, bytes) for key in items[::2]):
            raise pickle.UnpicklingError("a dictionary whose keys are not names")
        target.update(zip(items[::2], items[1::2], strict=True))

    def _load_dict(self) -> None:
        items = self.pop_mark()
        self.stack.append({})
        self._set_items(items)

    def _load_setitem(self) -> None:
        value = self.stack.pop()
        self._set_items([self.stack.pop(), value])

    def _load_setitems(self) -> None:
        self._set_items(self.pop_mark())

    dispatch: ClassVar[dict[int, Any]] = {
        **{code: load for code, load in pickle._Unpickler.dispatch.items() if bytes([code]) not in _HASHING + _GROWING},
        pickle.DICT[0]: _load_dict,
        pickle.SETITEM[0]: _load_setitem,
        pickle.SETITEMS[0]: _load_setitems,
    }
