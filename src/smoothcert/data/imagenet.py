"""ImageNet and its like: photographs in train/ and val/, a folder per class, streamed from disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from smoothcert.data.augment import Key
from smoothcert.data.dataset import data_root, in_unit_range
from smoothcert.data.decoding import decode, decode_ahead, default_workers
from smoothcert.data.image import CROPPED
from smoothcert.errors import InputError

SUFFIXES = (".jpeg", ".jpg", ".png", ".webp", ".bmp", ".ppm")
_FOLDERS = {"train": "train", "test": "val"}


@dataclass(frozen=True)
class ImageFolder:
    """Photographs at 224×224, sorted by class folder and file name; class k is the k-th folder by name."""

    name: str
    split: str
    folder: Path
    files: Sequence[str]
    """paths within `folder`"""
    labels: Tensor
    num_classes: int
    workers: int = field(default_factory=default_workers)
    """processes that decode ahead in `batches`; the result does not depend on their number"""

    def __len__(self) -> int:
        return len(self.files)

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, CROPPED, CROPPED)

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Images in [0, 1]: the shorter side resized to 256, the centre 224×224. Decoded in this process."""
        return self._finish([decode((self._path(i), None)) for i in indices.tolist()], indices)

    def batches(self, chunks: Iterable[Tensor], key: Key | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        """As ImageSet says; with a key a random-resized crop of 224×224 and a flip, by key and index."""
        stem = None if key is None else "/".join(map(str, ("smoothcert", "augment", *key)))
        chunks = list(chunks)
        requests = (
            [(self._path(i), None if stem is None else f"{stem}/{i}") for i in chunk.tolist()] for chunk in chunks
        )
        for chunk, images in zip(chunks, decode_ahead(requests, self.workers), strict=True):
            yield self._finish(images, chunk)

    def to(self, device: torch.device) -> ImageFolder:
        return replace(self, labels=self.labels.to(device))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of every file's path and size, in order: not of the pixels, which would take hours."""
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(f"{file}\t{(self.folder / file).stat().st_size}\n".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def _path(self, index: int) -> str:
        return os.path.join(self.folder, self.files[index])

    def _finish(self, images: list[bytes], indices: Tensor) -> tuple[Tensor, Tensor]:
        device = self.labels.device
        pixels = torch.frombuffer(bytearray(b"".join(images)), dtype=torch.uint8)
        x = pixels.view(len(images), CROPPED, CROPPED, 3).to(device).permute(0, 3, 1, 2)  # channels-last
        return in_unit_range(x), self.labels[indices.to(device)]


def load(name: str, num_classes: int, split: str, root: Path | None = None) -> ImageFolder:
    """The photographs under ROOT/name/{train,val}/<class>/, or ROOT/{train,val}/<class>/."""
    base = data_root(root)
    homes = [home for home in (base / name, base) if (home / _FOLDERS[split]).is_dir()]
    if not homes:
        raise InputError(
            f"{name}: no folder {base / name / _FOLDERS[split]}: put the images there, a folder per class, "
            "or name the folder that holds them with --data or SMOOTHCERT_DATA"
        )
    folder = homes[0] / _FOLDERS[split]
    classes = _classes(folder)
    if len(classes) != num_classes:
        raise InputError(f"{folder}: {name} has {num_classes} classes, but here are {len(classes)} class folders")
    other = homes[0] / _FOLDERS["test" if split == "train" else "train"]
    odd = sorted(set(classes) ^ set(_classes(other))) if other.is_dir() else []
    if odd:  # a class missing on one side would shift all labels after it
        raise InputError(f"{folder} and {other} have different classes: {', '.join(odd[:3])}")
    files: list[str] = []
    labels: list[int] = []
    for label, wnid in enumerate(classes):
        found = sorted(e.name for e in os.scandir(folder / wnid) if e.name.lower().endswith(SUFFIXES) and e.is_file())
        if not found:
            raise InputError(f"{folder / wnid}: no images in it ({', '.join(SUFFIXES)})")
        files += [f"{wnid}/{file}" for file in found]
        labels += [label] * len(found)
    return ImageFolder(name, split, folder, tuple(files), torch.tensor(labels), num_classes)


def _classes(folder: Path) -> list[str]:
    found = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith("."))
    if not found:
        raise InputError(f"{folder}: no class folders in it: sort the images into one folder per class")
    return found
