"""What a reader is, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fuzz import hostile
from fuzz.mutate import BYTES, Mutation, members, opcodes
from fuzz.watch import RESIDENT

OPCODES: tuple[Mutation, ...] = (opcodes, opcodes, opcodes, *BYTES)
ZIP: tuple[Mutation, ...] = (members, members, members, members, *BYTES)


@dataclass(frozen=True)
class Reader:
    """`seeds` and `hostile` make their files when asked; `share` is how many of all inputs it gets."""

    name: str
    suffix: str
    make_seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    mutations: Sequence[Mutation]
    make_hostile: Callable[[list[bytes]], list[bytes]] = lambda seeds: []
    share: float = 1.0
    resident: int = RESIDENT

    @cached_property
    def seeds(self) -> list[bytes]:
        return self.make_seeds()

    @cached_property
    def hostile(self) -> list[bytes]:
        return self.make_hostile(self.seeds)


def constant(made: Callable[[], list[bytes]]) -> Callable[[list[bytes]], list[bytes]]:
    return lambda seeds: made()


def gzipped_heads(seeds: list[bytes]) -> list[bytes]:
    return hostile.gzips(seeds[0])


OWN = "fuzz.fires_when_imported:Thing"
"""code of somebody's own, which a file names"""


def deep_texts(seeds: list[bytes]) -> list[bytes]:
    deep = [b"[" * n + b"]" * n for n in (100, 900, 1000, 100_000)] + [
        b'{"a":' * n + b"1" + b"}" * n for n in (900, 10**5)
    ]
    return [*deep, *(b"x = " + value for value in deep), b"x = " + b"9" * 5000, b"x = 1\n" * 1000, b"a.b = 1\n[a.b]\n",
            b"a" + b".a" * 5000 + b" = 1\n", b"[" + b"a." * 5000 + b"a]\n", b'x = "' + b"y" * 10**6 + b'"']  # fmt: skip
