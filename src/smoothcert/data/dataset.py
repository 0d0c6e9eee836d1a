"""What a data set is to those who train and certify, and the kind that fits in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smoothcert.data.augment import Key, Shifts
from smoothcert.errors import InputError


class ImageSet(Protocol):
    """N images with labels 0 … K − 1, in memory or streamed from files."""

    @property
    def name(self) -> str: ...
    @property
    def split(self) -> str: ...
    @property
    def num_classes(self) -> int: ...
    @property
    def labels(self) -> Tensor:
        """(N,) int64, on the device that batches come out on; all −1 where a user's own images have none"""

    @property
    def shape(self) -> tuple[int, ...]:
        """of one image as batches hold it"""

    @property
    def fingerprint(self) -> str:
        """two sets with the same one are the same images in the same order"""

    def __len__(self) -> int: ...

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Images in [0, 1] as float32 under the test transform, and their labels; nothing random."""

    def batches(self, chunks: Iterable[Tensor], key: Key | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        """A batch per chunk of indices, in order, prepared ahead where that takes time.

        With a key, such as (seed, epoch), images are augmented as this set is for training. What happens to
        an image depends on the key and its index alone: not on its batch, the device, the number of workers,
        or where an epoch is taken up again. Without a key, as `batch`.
        """

    def to(self, device: torch.device) -> ImageSet:
        """The same set with its batches on `device`"""


@dataclass(frozen=True)
class Own:
    """What there is to say of images that a user brought along."""

    kind: str
    """folder, picture, array or code"""
    names: tuple[str, ...] = ()
    """the file of each image, where each has one"""
    labelled: bool = True
    """if not, all labels are −1"""
    all_classes: bool = False
    """whether all classes are known, as each has its folder or its name: then the model must have as many"""


@dataclass(frozen=True)
class Dataset:
    """Images as uint8 (N, C, H, W): CIFAR-size data stays in memory, at a quarter of what float takes.

    A user's own images may also be float32 in [0, 1].
    """

    name: str
    split: str
    images: Tensor
    labels: Tensor
    num_classes: int
    augmentation: Shifts | None = None
    own: Own | None = None

    @classmethod
    def of(
        cls, name: str, split: str, images: NDArray[np.uint8], labels: NDArray[np.integer], num_classes: int
    ) -> Dataset:
        if len(images) != len(labels):
            raise InputError(f"{name} {split}: {len(images)} images but {len(labels)} labels")
        if len(labels) and not (labels.min() >= 0 and labels.max() < num_classes):
            raise InputError(f"{name} {split}: labels must lie in 0 … {num_classes - 1}, found {labels.max()}")
        x = torch.from_numpy(np.ascontiguousarray(images))
        return cls(name, split, x, torch.from_numpy(labels.astype(np.int64)), num_classes)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.images.shape[1:])

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Images in [0, 1] as float32, and their labels, on the device the data lives on."""
        return in_unit_range(self.images[indices]), self.labels[indices]

    def batches(self, chunks: Iterable[Tensor], key: Key | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        device = self.labels.device
        augmentation = self.augmentation
        if key is None or augmentation is None:
            yield from (self.batch(indices.to(device)) for indices in chunks)
            return
        draws = augmentation.draw(len(self), key).to(device)
        for chunk in chunks:
            indices = chunk.to(device)
            images = augmentation.apply(self.images[indices], draws[indices])
            yield in_unit_range(images), self.labels[indices]

    def to(self, device: torch.device) -> Dataset:
        return replace(self, images=self.images.to(device), labels=self.labels.to(device))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all pixels and labels: two runs with the same one saw the same data in one order."""
        digest = hashlib.sha256(repr(self.images.shape).encode())
        digest.update(self.images.cpu().numpy().tobytes())
        digest.update(self.labels.cpu().numpy().tobytes())
        if self.own is not None:  # those of our data sets are older than this
            digest.update(repr((self.images.dtype, self.own.names)).encode("utf-8", "backslashreplace"))
        return digest.hexdigest()


def data_root(given: Path | None = None) -> Path:
    """Where data sets are looked for: --data, else SMOOTHCERT_DATA, else ./data."""
    return given or Path(os.environ.get("SMOOTHCERT_DATA") or "data")


def in_unit_range(images: Tensor) -> Tensor:
    """uint8 0 … 255 → float32 0 … 1; floats are there already."""
    return images.to(torch.float32) if images.is_floating_point() else images.to(torch.float32).div_(255)
