"""Data sets by name: local files first, never a silent download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from smoothcert.data import cifar10, fake, imagenet, mnist, mnist5k
from smoothcert.data.dataset import Dataset, ImageSet
from smoothcert.data.held_out import part_of, put_aside, splits
from smoothcert.data.imagenet import ImageFolder
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


def load(name: str, split: str, root: str | Path | None = None, workers: int | None = None) -> ImageSet:
    """The named data set's split; `root` is the folder that holds data sets.

    Splits are "train" and "test"; "held-out-5000" are 5,000 of the training images, evenly spaced, and
    "train-without-5000" all the others.
    `workers` is the number of processes that decode ahead, where the data are photographs in files.
    """
    if name not in DATASETS:
        raise InputError(f"unknown data set {name!r}{did_you_mean(name, DATASETS)}")
    aside = put_aside(split)
    if split not in SPLITS and aside is None:
        raise InputError(
            f"unknown split {split!r}: there are {', '.join(SPLITS)} and held-out-N, such as held-out-5000"
        )
    if workers is not None and workers < 0:
        raise InputError(f"workers must be at least 0, not {workers}")
    found = DATASETS[name](split if aside is None else "train", None if root is None else Path(root))
    if isinstance(found, ImageFolder) and workers is not None:
        found = replace(found, workers=workers)
    return found if aside is None else part_of(found, split, aside)


__all__ = ["DATASETS", "SPLITS", "Dataset", "ImageFolder", "ImageSet", "load", "splits"]
