"""Images in .npy and .npz files, and in whatever else can be indexed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from smoothcert.data.dataset import Own
from smoothcert.data.own_labels import numbered
from smoothcert.data.own_pictures import MOST_BYTES, pixels_of
from smoothcert.errors import InputError
from smoothcert.files.reading import parse_array, read_arrays, read_bytes
from smoothcert.files.shown import one_line, shown
from smoothcert.files.source import imported

CHANNELS = (1, 3)
_IMAGES, _LABELS = ("images", "x"), ("labels", "y")

Found = tuple[NDArray[Any], NDArray[np.int64], Own]


def from_array_file(path: Path, labels: Path | None, classes: Sequence[str] | None) -> Found:
    """.npz with `images` or `x`, and `labels` or `y`; or .npy with images alone, whose labels are another .npy."""
    if path.suffix.lower() == ".npz":
        if labels is not None:
            raise InputError(f"{path}: an .npz file holds its labels itself, as `labels` or `y`: leave --labels out")
        held = read_arrays(path, MOST_BYTES)
        found = next((held[key] for key in _IMAGES if key in held), None)
        if found is None:
            raise InputError(f"{path}: holds no array `images` or `x`, only {shown(list(held))}")
        given = next((held[key] for key in _LABELS if key in held), None)
    else:
        found = _npy(path)
        given = None if labels is None else _npy(labels)
    images = stacked(found, str(path))
    own = Own("array", labelled=given is not None)
    if given is None:
        return images, np.full(len(images), -1), own
    return images, _labels(given, len(images), str(labels or path), classes), own


def from_code(spec: str) -> Found:
    """All of `package.module:name`, an object or what it returns when called: len() of it, and (image, label) at i."""
    items = imported(spec)
    items = items() if callable(items) and not hasattr(items, "__getitem__") else items
    try:
        count = len(items)
        pairs = [items[i] for i in range(count)]
        again = items[0]
    except Exception as error:  # anybody's __getitem__ can raise anything
        raise InputError(f"{spec}: cannot be indexed from 0 to len() - 1: {one_line(error)}") from error
    images, labels = [], []
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"{spec}: item {i} is a {type(pair).__name__}, not a pair (image, label)")
        images.append(_image(pair[0], f"{spec}: image {i}"))
        labels.append(_label(pair[1], f"{spec}: image {i}"))
    if not images:
        raise InputError(f"{spec}: holds no image")
    shapes = list(dict.fromkeys(image.shape for image in images))
    if len(shapes) > 1:
        raise InputError(f"{spec}: its images have different shapes, such as {shapes[0]} and {shapes[1]}")
    if not np.array_equal(_image(again[0], spec), images[0]):
        raise InputError(f"{spec}: gives another image when asked again: leave random augmentation out")
    return np.stack(images), np.array(labels, np.int64), Own("code")


def stacked(array: NDArray[Any], name: str) -> NDArray[Any]:
    """(N, C, H, W) of uint8 or float32 in [0, 1], from channels first or last; grey images may lack the channel."""
    if array.ndim == 3 and array.shape[0] not in CHANNELS:
        array = array[None] if array.shape[2] in CHANNELS else array[:, None]
    if array.ndim == 2:
        array = array[None, None]
    if array.ndim != 4:
        shape = "×".join(map(str, array.shape))
        unclear = ", many grey images or one of many channels" if array.ndim == 3 else ""
        raise InputError(f"{name}: is {shape}{unclear}: give N×C×H×W or N×H×W×C, also of one image or of grey ones")
    if not array.size:
        raise InputError(f"{name}: holds no image")
    first, last = array.shape[1] in CHANNELS, array.shape[3] in CHANNELS
    if first == last:
        what = "both" if first else "neither"
        shape = "×".join(map(str, array.shape))
        raise InputError(f"{name}: is {shape}: {what} of N×C×H×W and N×H×W×C fits, with C = 1 or 3")
    return in_range(array if first else array.transpose(0, 3, 1, 2), name)


def in_range(array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.dtype == np.uint8:
        return np.array(array, order="C")  # a copy: what was read from a file cannot be written to
    if array.dtype.kind != "f":
        raise InputError(f"{name}: holds {array.dtype}: images are uint8 from 0 to 255, or floats from 0 to 1")
    if not (array.min() >= 0 and array.max() <= 1):  # false for NaN
        raise InputError(f"{name}: values from {array.min():g} to {array.max():g}: scale them to 0 … 1, or give uint8")
    return np.array(array, np.float32, order="C")


def _npy(path: Path) -> NDArray[Any]:
    try:
        return parse_array(read_bytes(path, MOST_BYTES))
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path}: not a .npy file, or damaged ({error})") from error


def _labels(given: NDArray[Any], count: int, name: str, classes: Sequence[str] | None) -> NDArray[np.int64]:
    if given.shape != (count,):
        raise InputError(f"{name}: {count} images but labels of shape {given.shape}: give one label for each image")
    if given.dtype.kind == "U":
        return numbered([str(label) for label in given], [f"image {i}" for i in range(count)], name, classes)
    if given.dtype.kind not in "iu" or given.min() < 0 or given.max() > 10**9:
        raise InputError(f"{name}: labels must be whole numbers from 0 on, not {given.dtype} from {given.min()} on")
    return given.astype(np.int64)


def _image(value: Any, name: str) -> NDArray[Any]:
    if isinstance(value, Image.Image):
        return pixels_of(value, name)
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    if not isinstance(value, np.ndarray) or value.ndim not in (2, 3):
        raise InputError(f"{name} is a {type(value).__name__}, not a picture, tensor or array of 2 or 3 dimensions")
    if value.ndim == 3 and (value.shape[0] in CHANNELS) == (value.shape[2] in CHANNELS):
        raise InputError(f"{name} is {'×'.join(map(str, value.shape))}, not C×H×W or H×W×C with C = 1 or 3")
    return stacked(value[None] if value.ndim == 3 else value, name)[0]


def _label(value: Any, name: str) -> int:
    if isinstance(value, Tensor | np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= 10**9:
        raise InputError(f"{name}: its label is {type(value).__name__} {value!r:.80}, not a whole number from 0 on")
    return int(value)
