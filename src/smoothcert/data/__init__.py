"""Data sets by name: local files first, never a silent download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from smoothcert.data import cifar10, fake, imagenet, mnist, mnist5k
from smoothcert.data.dataset import Dataset, ImageSet
from smoothcert.data.imagenet import ImageFolder
from smoothcert.errors import InputError, did_you_mean

DATASETS: dict[str, Callable[[str, Path | None], ImageSet]] = {
    "mnist5k": mnist5k.load,
    "mnist": mnist.MNIST.load,
    "fashion_mnist": mnist.FASHION_MNIST.load,
    "cifar10": cifar10.load,
    "imagenet": partial(imagenet.load, "imagenet", 1000),
    "imagenette": partial(imagenet.load, "imagenette", 10),
    "fake": fake.load,
}
SPLITS = ("train", "test")


def load(name: str, split: str, root: Path | None = None, workers: int | None = None) -> ImageSet:
    """The named data set's split ("train" or "test"); `root` is the folder that holds data sets.

    `workers` is the number of processes that decode ahead, where the data are photographs in files.
    """
    if name not in DATASETS:
        raise InputError(f"unknown data set {name!r}{did_you_mean(name, DATASETS)}")
    if split not in SPLITS:
        raise InputError(f"unknown split {split!r}: there are {' and '.join(SPLITS)}")
    if workers is not None and workers < 0:
        raise InputError(f"workers must be at least 0, not {workers}")
    found = DATASETS[name](split, root)
    return replace(found, workers=workers) if isinstance(found, ImageFolder) and workers is not None else found


__all__ = ["DATASETS", "SPLITS", "Dataset", "ImageFolder", "ImageSet", "load"]
