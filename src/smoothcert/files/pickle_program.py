"""A pickle is a program: looked through before it is run, so that what it can build is bounded by what it is."""

from __future__ import annotations

import io
import pickletools
from collections.abc import Sequence
from pathlib import Path

from smoothcert.errors import InputError

_HEAVIEST = 1000  # parts of a tuple, and parts of its parts: what rebuilds a tensor has some twenty
_HASHED = ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "FROZENSET")
_PUT, _GET = ("BINPUT", "LONG_BINPUT", "PUT"), ("BINGET", "LONG_BINGET", "GET")


def look_through(
    path: Path, data: bytes | bytearray, most: int, *, pickles: int = 1, forbidden: Sequence[str] = ()
) -> None:
    """InputError about a program that could take more time, memory or stack than its size allows; nothing is executed.

    An unpickler with a list of what may be called, as torch's or one of ours, executes nothing either, but three
    things are beyond it. Keys are hashed, and the hash of a tuple walks all that is in it: a tuple of itself, forty
    times over, takes for ever, and one nested a million deep ends the process. Python's unpickler in C makes room for
    any size that it reads, before it looks for the bytes. And what may be called can make as many bytes as it is asked
    for: it is named in `forbidden`, as "module name".

    ValueError where the data do not begin with so many pickles; `most` is how many opcodes one may have.
    """
    file = io.BytesIO(data)
    for _ in range(pickles):
        if wrong := _what_is_wrong(file, most, forbidden):
            raise InputError(f"{path}: refused, and nothing in it was executed: its pickle {wrong}")


def _what_is_wrong(file: io.BytesIO, most: int, forbidden: Sequence[str]) -> str:
    """The stack holds the weight of each value, from the effects that pickletools knows of every opcode."""
    mark = -1
    stack: list[int] = []
    memo: dict[int, int] = {}
    for number, (opcode, argument, _) in enumerate(pickletools.genops(file)):  # which misses bytes that are not there
        name, place = opcode.name, len(memo) if opcode.name == "MEMOIZE" else argument
        if number == most or (name in _PUT and not 0 <= int(place or 0) <= most):
            return "is longer than that of any file of its kind"
        if name == "GLOBAL" and argument in forbidden:
            return f"asks for {str(argument).replace(' ', '.')}, which no file of its kind needs"
        if name in (*_PUT, "MEMOIZE"):
            memo[int(place or 0)] = stack[-1] if stack else 1
            continue
        taken = _take(stack, opcode, mark)
        if name in _HASHED:
            stack.append(1 + sum(taken))
            if stack[-1] > _HEAVIEST:
                return "nests tuples as no file of its kind does"
        elif name in _GET:
            stack.append(memo.get(int(place or 0), 1))
        elif name == "DUP":
            stack += taken * 2
        else:
            stack += [mark if kind is pickletools.markobject else 1 for kind in opcode.stack_after]
    return ""


def _take(stack: list[int], opcode: pickletools.OpcodeInfo, mark: int) -> list[int]:
    """What the opcode takes off the stack; below an empty one any unpickler fails, so nothing is said here."""
    before = opcode.stack_before
    taken: list[int] = []
    if pickletools.markobject in before:
        while stack and stack[-1] != mark:
            taken.append(stack.pop())
        del stack[-1:]
        before = before[: before.index(pickletools.markobject)]
    taken += [stack.pop() for _ in before if stack]
    return [weight for weight in taken if weight != mark]
