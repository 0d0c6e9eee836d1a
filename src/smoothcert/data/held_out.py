"""Training images put aside to choose settings on: chosen on test images, they flatter what is certified there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smoothcert.data.augment import Key
from smoothcert.data.dataset import ImageSet, Own
from smoothcert.errors import InputError

_HELD_OUT, _REST = "held-out-", "train-without-"


def splits(held_out: int | None) -> tuple[str, str]:
    """What a training that puts so many images aside is trained on, and tested on."""
    return ("train", "test") if held_out is None else (f"{_REST}{held_out}", f"{_HELD_OUT}{held_out}")


def put_aside(split: str) -> int | None:
    """Of "held-out-5000" and "train-without-5000" the number; None for any other split."""
    match = re.fullmatch(rf"(?:{_HELD_OUT}|{_REST})([1-9]\d{{0,8}})", split, re.ASCII)
    return None if match is None else int(match[1])


def part_of(train: ImageSet, split: str, count: int) -> Part:
    """The held-out images, evenly spaced, for a set may be sorted by class; or all the others."""
    if not count < len(train):
        raise InputError(f"{train.name}: of {len(train):,} training images {count:,} cannot be put aside")
    chosen = torch.zeros(len(train), dtype=torch.bool)
    chosen[torch.arange(count) * len(train) // count] = True
    return Part(train, split, (chosen if split.startswith(_HELD_OUT) else ~chosen).nonzero()[:, 0])


@dataclass(frozen=True)
class Part:
    """Some images of a set, counted anew from 0."""

    whole: ImageSet
    split: str
    indices: Tensor
    """in the whole set"""

    @property
    def name(self) -> str:
        return self.whole.name

    @property
    def num_classes(self) -> int:
        return self.whole.num_classes

    @property
    def labels(self) -> Tensor:
        return self.whole.labels[self.indices.to(self.whole.labels.device)]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.whole.shape

    @property
    def own(self) -> Own | None:
        own: Own | None = getattr(self.whole, "own", None)
        return own and replace(own, names=tuple(own.names[i] for i in self.indices.tolist()) if own.names else ())

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(f"{self.whole.fingerprint} {self.split}".encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.indices)

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        return self.whole.batch(self.indices[indices.cpu()])

    def batches(self, chunks: Iterable[Tensor], key: Key | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        return self.whole.batches((self.indices[chunk.cpu()] for chunk in chunks), key)

    def to(self, device: torch.device) -> Part:
        return replace(self, whole=self.whole.to(device))
