"""Files from anywhere: no more is read than their kind can hold, and no claim is believed before it is checked."""

from __future__ import annotations

import gzip
import io
import json
import math
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from smoothcert.errors import InputError
from smoothcert.files.shown import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DEEPEST = 50  # levels of JSON and TOML: ours have six
_CHUNK = 2**20
LARGEST = 2**34  # bytes of a file of weights
NOT_ZIP = (zipfile.BadZipFile, EOFError, OSError, ValueError, OverflowError, NotImplementedError)
"""what `zipfile` raises of damaged archives: wrong sizes, versions to come"""
_NOT_NPY = (ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError)  # numpy evaluates the header


def read_up_to(file: IO[bytes] | gzip.GzipFile, limit: int) -> bytearray:
    """What there is, and one byte more than `limit` at most. `file.read(n)` would make room for n bytes at once."""
    data = bytearray()
    while len(data) <= limit and (chunk := file.read(min(_CHUNK, limit + 1 - len(data)))):
        data += chunk
    return data


def read_bytes(path: Path, limit: int) -> bytearray:
    try:
        with path.open("rb") as file:
            data = read_up_to(file, limit)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return _no_more_than(limit, data, path)


def read_unzipped(path: Path, limit: int) -> bytearray:
    """As `read_bytes`, unpacked if it is gzipped; the limit holds before and after."""
    data = read_bytes(path, limit)
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.open(io.BytesIO(data)) as file:
            return _no_more_than(limit, read_up_to(file, limit), path)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be unpacked ({error})") from error


def first_byte(path: Path) -> bytes:
    """Of what is in the file, unpacked if it is gzipped; empty where there is nothing."""
    try:
        with path.open("rb") as file:
            first = file.read(2)
        if first == b"\x1f\x8b":
            with gzip.open(path) as unpacked:
                first = unpacked.read(1)
        return first[:1]
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _no_more_than(limit: int, data: bytearray, path: Path) -> bytearray:
    if len(data) > limit:
        raise InputError(f"{path}: larger than {limit:,} bytes, more than such a file can have")
    return data


def parse_json(text: str | bytes | bytearray) -> Any:
    """The value, or ValueError; also for text nested so deep that whoever walks or prints it would fail."""
    try:
        return shallow(json.loads(text))
    except RecursionError:
        raise ValueError("nested too deep") from None


def shallow(value: Any) -> Any:
    """The value itself, or ValueError if it is nested too deep to be walked without care."""
    level = [value]
    for _ in range(_DEEPEST):
        holders = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)]
        level = [part for holder in holders for part in holder]
        if not level:
            return value
    raise ValueError("nested too deep")


def read_arrays(path: Path, limit: int) -> dict[str, NDArray[Any]]:
    """The arrays of a .npz file. Numbers and texts alone, as many bytes as their headers say: nothing is unpickled."""
    data = read_bytes(path, limit)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = archive.infolist()
            if sum(info.file_size for info in found) > limit:
                raise InputError(f"{path}: unpacks to more than {limit:,} bytes, more than such a file can have")
            if any(info.flag_bits & 1 or info.compress_type not in (0, zipfile.ZIP_DEFLATED) for info in found):
                raise InputError(f"{path}: encrypted, or packed as numpy does not pack")
            return {info.filename.removesuffix(".npy"): parse_array(archive.read(info)) for info in found}
    except (*NOT_ZIP, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a .npz file, or damaged ({one_line(error)})") from error


def parse_array(data: bytes | bytearray) -> NDArray[Any]:
    """The array of a .npy file, or ValueError; `numpy.load` would first make room for whatever the header claims."""
    import numpy as np

    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a header may be one of Python 2
            shape, fortran, dtype = read(file)
    except KeyError:
        raise ValueError("an .npy format newer than 2.0") from None
    except _NOT_NPY as error:
        raise ValueError(f"its header is not numpy's ({type(error).__name__})") from error
    rest = data[file.tell() :]
    if dtype.kind not in "biufU" or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError("not an array of numbers or texts, or its header contradicts its size")
    flat: NDArray[Any] = np.frombuffer(rest, dtype) if rest else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")
