"""Data sets by name: local files first, never a silent download."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from smoothcert.data import cifar10, fake, imagenet, mnist, mnist5k
from smoothcert.data.dataset import Dataset, ImageSet, Own
from smoothcert.data.held_out import part_of, put_aside, splits
from smoothcert.data.imagenet import ImageFolder
from smoothcert.data.own_images import is_own, own_images
from smoothcert.errors import InputError, did_you_mean

DATASETS: dict[str, Callable[[str, Path | None], ImageSet]] = {
    "mnist5k": mnist5k.load,
    "mnist": partial(mnist.load, "mnist", "MNIST"),
    "fashion_mnist": partial(mnist.load, "fashion_mnist", "FashionMNIST"),
    "cifar10": cifar10.load,
    "imagenet": partial(imagenet.load, "imagenet", 1000),
    "imagenette": partial(imagenet.load, "imagenette", 10),
    "fake": fake.load,
}
SPLITS = ("train", "test")


def load(
    name: str,
    split: str,
    root: str | Path | None = None,
    workers: int | None = None,
    labels: str | os.PathLike[str] | None = None,
    classes: Sequence[str] | None = None,
) -> ImageSet:
    """The named data set's split; `root` is the folder that holds data sets. Or a user's own: see `own_images`.

    Splits are "train" and "test"; "held-out-5000" are 5,000 of the training images, evenly spaced, and
    "train-without-5000" all the others.
    `workers` is the number of processes that decode ahead, where the data are photographs in files.
    """
    if name not in DATASETS and not is_own(name):
        raise InputError(f"unknown data set {name!r}{did_you_mean(name, DATASETS)}")
    aside = put_aside(split)
    if split not in SPLITS and aside is None:
        raise InputError(
            f"unknown split {split!r}: there are {', '.join(SPLITS)} and held-out-N, such as held-out-5000"
        )
    if workers is not None and workers < 0:
        raise InputError(f"workers must be at least 0, not {workers}")
    part = split if aside is None else "train"
    if name not in DATASETS:
        found: ImageSet = _own(name, part, aside is not None, labels, classes)
    elif labels is not None or classes is not None:
        raise InputError(f"{name}: knows its labels: --labels and --classes are for images of one's own")
    else:
        found = DATASETS[name](part, None if root is None else Path(root))
    if isinstance(found, ImageFolder) and workers is not None:
        found = replace(found, workers=workers)
    return found if aside is None else part_of(found, split, aside)


def own_of(images: ImageSet) -> Own | None:
    """What there is to say of a user's own images; None of a data set that has a name."""
    return getattr(images, "own", None)


def _own(
    spec: str, split: str, aside: bool, labels: str | os.PathLike[str] | None, classes: Sequence[str] | None
) -> Dataset:
    found = own_images(spec, labels, classes=classes, split=split)
    if split == "train" and not (found.own and found.own.labelled):
        raise InputError(f"{spec}: training needs labels: sort the pictures into class folders, or name a CSV")
    if split == "train" and not aside and not Path(spec, "train").is_dir():
        raise InputError(f"{spec}: has no folders train and test: make them, or put images aside with held_out=N")
    return found


__all__ = [
    "DATASETS",
    "SPLITS",
    "Dataset",
    "ImageFolder",
    "ImageSet",
    "Own",
    "load",
    "own_images",
    "own_of",
    "splits",
]
