"""A user's own images: a folder, a picture, an array, or whatever can be indexed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from smoothcert.data.dataset import Dataset
from smoothcert.data.imagenet import SUFFIXES
from smoothcert.data.own_arrays import from_array_file, from_code
from smoothcert.data.own_pictures import from_folder, from_picture
from smoothcert.errors import InputError

ARRAYS = (".npy", ".npz")
_SPLITS = {"train": ("train",), "test": ("test", "val")}


def is_own(spec: str) -> bool:
    """Whether it looks like a file, a folder or package.module:name, not like the name of a data set."""
    return isinstance(spec, str) and (
        os.sep in spec or ":" in spec or Path(spec).suffix.lower() in (*SUFFIXES, *ARRAYS) or Path(spec).exists()
    )


def own_images(
    spec: str | os.PathLike[str],
    labels: str | os.PathLike[str] | None = None,
    *,
    classes: Sequence[str] | None = None,
    split: str | None = None,
) -> Dataset:
    """A user's own images, in memory; their content alone decides their fingerprint, not where they lie.

    Args:
        spec: a folder of pictures, or of class folders (or of train and test folders of these); a picture; .npz with
            `images` and `labels` (or x, y), or .npy: uint8, or floats in [0, 1], channels first or last;
            package.module:name for anything that gives (image, label) at i, whose module is then imported
        labels: of a folder a CSV with the columns file,label; of .npy images another .npy
        classes: the model's classes in its order, where labels or class folders are names of them
        split: "train" or "test", of a folder that has folders of these names; None: the folder as it is

    Returns:
        the data set; without labels all of them are −1, and `own.labelled` is False

    Example:
        >>> own_images("nowhere.png")
        Traceback (most recent call last):
        smoothcert.errors.InputError: nowhere.png: no such file or folder
    """
    text, path = os.fspath(spec), Path(spec)
    table = None if labels is None else Path(labels)
    suffix = path.suffix.lower()
    if path.is_dir():
        images, y, own = from_folder(_part(path, split), table, classes)
    elif ":" in text and not path.exists():
        if table is not None or classes is not None:
            raise InputError(f"{text}: gives its labels itself: leave --labels and --classes out")
        images, y, own = from_code(text)
    elif not path.exists():
        raise InputError(f"{text}: no such file or folder")
    elif suffix in ARRAYS:
        images, y, own = from_array_file(path, table, classes)
    elif suffix in SUFFIXES:
        if table is not None:
            raise InputError(f"{text}: --labels is for a folder of pictures: name the folder it is in")
        images, y, own = from_picture(path)
    else:
        raise InputError(f"{text}: neither a folder nor a picture ({', '.join(SUFFIXES)}) nor {' or '.join(ARRAYS)}")
    name = text if own.kind == "code" else path.resolve().name
    own = own if classes is None else replace(own, all_classes=own.labelled)
    num_classes = int(y.max()) + 1 if classes is None else len(classes)
    return Dataset(name, split or "test", torch.from_numpy(images), torch.from_numpy(y), num_classes, own=own)


def _part(folder: Path, split: str | None) -> Path:
    """The folder, or its part for training or testing where it consists of both."""
    inner = {entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith(".")}
    if split is None or inner not in ({"train", "test"}, {"train", "val"}):
        return folder
    return folder / next(name for name in _SPLITS[split] if name in inner)
