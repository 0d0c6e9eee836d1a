"""Who certifies which image, when several processes share a test set."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files.writing import sole_owner
from smoothcert.machine.processes import Place
from smoothcert.records.parts import part_path

_POLL = 0.2  # seconds
_MANY = 10**9


class Crew:
    """One process for all images."""

    part: str | None = None
    """names the file this process appends to; None for the log itself"""
    leads = True
    """true of one process of those that work together"""
    tolerates_others = False
    """whether processes that know nothing of this one may work on the same log"""

    def __init__(self) -> None:
        self.todo: int | None = None
        """images that were not done when the work was shared out; None before"""
        self._written = 0

    def choose(self, images: range, done: Container[int]) -> Iterator[int]:
        """The images this process certifies, one at a time as it gets to them."""
        missing = [index for index in images if index not in done]
        self.todo = len(missing)
        yield from missing

    def room(self) -> int:
        """How many images this process may have open at once."""
        return _MANY

    def count_row(self) -> None:
        """One more is written."""
        self._written += 1

    @property
    def written(self) -> int:
        """Rows written since the work was shared out, by all who work together."""
        return self._written

    def wait(self) -> Iterator[None]:
        """Until all are done; yields now and then."""
        yield from ()


class Shard(Crew):
    """Share number `number` of `of`, fixed in advance: for job arrays, whose jobs know nothing of each other."""

    tolerates_others = True

    def __init__(self, number: int, of: int) -> None:
        super().__init__()
        self.number, self.of = number, of
        self.part = f"{number}-of-{of}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """ "0/8" … "7/8"."""
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text, re.ASCII)
        if match is None or not int(match[1]) < int(match[2]):
            raise InputError(f"--shard must be I/N with I from 0 to N − 1, such as 0/8, not {text!r}")
        return cls(int(match[1]), int(match[2]))

    def choose(self, images: range, done: Container[int]) -> Iterator[int]:
        # Every n-th, not a stretch: neighbours in a test set sorted by class are alike in cost.
        return super().choose(images[self.number :: self.of], done)


class Torchrun(Crew):
    """Processes of one torchrun, on one machine or several: each takes the next image when it has room for one.

    They share nothing but counters in the key-value store that torchrun keeps anyway. Which image is done by whom does
    not matter: its votes depend on (seed, image) alone.
    """

    def __init__(self, place: Place, store: Any) -> None:
        super().__init__()
        self.leads, self.part = place.first, f"rank{place.rank}"
        self.store, self._size, self._taken = store, place.size, 0

    def choose(self, images: range, done: Container[int]) -> Iterator[int]:
        if self.leads:  # its view of what is done holds for all: the others may have begun to write since
            self.store.set("images", json.dumps([index for index in images if index not in done]))
        missing = json.loads(self.store.get("images"))
        self.todo = len(missing)
        while (number := self.store.add("taken", 1)) <= len(missing):
            self._taken = number
            yield missing[number - 1]

    def room(self) -> int:
        # Towards the end fewer and fewer, so that nobody sits on images while others have none.
        return _MANY if self.todo is None else (self.todo - self._taken) // (2 * self._size)

    def count_row(self) -> None:
        self.store.add("written", 1)

    @property
    def written(self) -> int:
        return int(self.store.add("written", 0))

    def wait(self) -> Iterator[None]:
        # The first process stays to the end: it shows how far all of them are, holds the lock, and where no launcher
        # keeps the store, the store ends with it. So all rows being written is not enough: the others ask it once more.
        if not self.leads:
            self.store.add("left", 1)
            return
        while self.store.add("left", 0) < self._size - 1:
            yield
            time.sleep(_POLL)


@contextlib.contextmanager
def owned(log: Path, crew: Crew) -> Iterator[None]:
    """The locks of a process: on its part, and on the log, which shards share."""
    with contextlib.ExitStack() as locks:
        if crew.leads:
            locks.enter_context(sole_owner(log.parent, log.name, shared=crew.tolerates_others))
        if crew.part is not None:
            locks.enter_context(sole_owner(log.parent, part_path(log, crew.part).name))
        yield


def crew_of(place: Place, shard: str | None) -> Crew:
    if shard is not None:
        if place.size > 1:
            raise InputError("--shard is for jobs without torchrun, which shares the images by itself: leave it away")
        return Shard.parse(shard)
    if place.size == 1:
        return Crew()
    from torch.distributed.rendezvous import rendezvous

    store, _rank, _size = next(rendezvous("env://"))
    return Torchrun(place, store)
