"""Pictures in files: one, a folder with a CSV of labels, or a folder per class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from smoothcert.data.dataset import Own
from smoothcert.data.image import MOST_PIXELS, decoded
from smoothcert.data.imagenet import SUFFIXES
from smoothcert.data.own_labels import are_numbers, label_each, numbered, read_csv
from smoothcert.errors import InputError

MOST_BYTES = 2**34
"""of all images together: they stay in memory"""
_NOT_READ = (".gif", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jp2", ".jxl", ".svg", ".tga")

Found = tuple[NDArray[np.uint8], NDArray[np.int64], Own]


def from_picture(path: Path) -> Found:
    """One picture, whose label is unknown."""
    return exact_pixels(path)[None], np.array([-1]), Own("picture", (path.name,), labelled=False)


def from_folder(folder: Path, table: Path | None, classes: Sequence[str] | None) -> Found:
    """All pictures in it, sorted by their path within it.

    Their labels stand in the table, or are their folders: those named by numbers have these numbers, others are
    counted by name. Without either the labels are unknown.
    """
    files, folders = _within(folder)
    if not files:
        raise InputError(f"{folder}: no pictures in it ({', '.join(SUFFIXES)})")
    unlabelled = table is None and not folders
    every = False
    if table is not None:
        given = label_each(files, read_csv(table), folder, table)
        labels = numbered(given, files, str(table), classes)
    elif unlabelled:
        labels = np.full(len(files), -1)
    else:
        labels, every = _by_folder(folder, files, folders, classes)
    return _together(folder, files), labels, Own("folder", tuple(files), not unlabelled, every)


def exact_pixels(path: Path, most_pixels: int = MOST_PIXELS) -> NDArray[np.uint8]:
    """(C, H, W) of a picture with 8 bits a value, grey or RGB; what could not be told exactly is refused."""
    try:
        picture = decoded(str(path), most_pixels, as_it_is=True)
    except ValueError as error:
        raise InputError(str(error)) from error
    return pixels_of(picture, str(path))


def pixels_of(picture: Image.Image, name: str) -> NDArray[np.uint8]:
    if "transparency" in picture.info or picture.mode in ("LA", "RGBA", "PA", "La", "RGBa"):
        grey = picture.mode in ("1", "L", "LA", "La")
        picture = picture.convert("RGBA")
        if picture.getchannel("A").getextrema() != (255, 255):
            raise InputError(f"{name}: has transparent pixels: put it on a background first")
        picture = picture.convert("L" if grey else "RGB")
    elif picture.mode in ("1", "P"):
        picture = picture.convert("L" if picture.mode == "1" else "RGB")
    if picture.mode not in ("L", "RGB"):
        raise InputError(f"{name}: has pixels of kind {picture.mode}: save it as grey or RGB with 8 bits a value")
    pixels = np.array(picture, np.uint8)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def _within(folder: Path) -> tuple[list[str], list[str]]:
    """Paths of the pictures, and the folders directly in it."""
    files, folders = [], []
    for place, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        folders += inner if Path(place) == folder else []
        for name in names:
            path = Path(place, name)
            if name.startswith("."):
                continue
            if path.suffix.lower() in _NOT_READ:
                raise InputError(f"{path}: pictures of this kind are not read: save it as PNG first")
            if path.suffix.lower() in SUFFIXES:
                files.append(path.relative_to(folder).as_posix())
    return sorted(files), folders


def _by_folder(
    folder: Path, files: Sequence[str], folders: Sequence[str], classes: Sequence[str] | None
) -> tuple[NDArray[np.int64], bool]:
    for file in files:
        if file.count("/") != 1:
            beside = "beside the class folders" if "/" not in file else "deeper than the class folders"
            raise InputError(f"{folder / file}: lies {beside}: sort it into one, or name a CSV with --labels")
    owners = [file.partition("/")[0] for file in files]
    for name in folders:
        if name not in owners:  # which would shift the labels of all after it
            raise InputError(f"{folder / name}: no pictures in it ({', '.join(SUFFIXES)})")
    if classes is None and not are_numbers(folders):
        return numbered(owners, files, str(folder), sorted(folders)), True
    return numbered(owners, files, str(folder), classes), False


def _together(folder: Path, files: Sequence[str]) -> NDArray[np.uint8]:
    first = exact_pixels(folder / files[0])
    if first.size * len(files) > MOST_BYTES:
        raise InputError(f"{folder}: {len(files):,} pictures of this size do not fit in memory: use several folders")
    together = np.empty((len(files), *first.shape), np.uint8)
    for i, file in enumerate(files):
        pixels = first if i == 0 else exact_pixels(folder / file)
        if pixels.shape != first.shape:
            mine, others = ("×".join(map(str, shape)) for shape in (pixels.shape, first.shape))
            raise InputError(f"{folder / file}: is {mine}, but {files[0]} is {others}: give all the same size and kind")
        together[i] = pixels
    return together
