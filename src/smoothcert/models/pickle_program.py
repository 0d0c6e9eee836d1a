"""A checkpoint's pickle, looked through before torch runs it: what it may build is bounded by what it is."""

from __future__ import annotations

import io
import pickletools
from collections.abc import Iterator

# torch calls these for a pickle as well, and they make as many bytes as it asks for.
_GROWING = ("builtins bytearray", "__builtin__ bytearray", "_codecs encode")
_HEAVIEST = 1000  # parts of a tuple, and parts of its parts: what rebuilds a tensor has some twenty
_LONGEST = 1_000_000  # opcodes: a tensor takes some forty
_TUPLES = ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3")
OLD_HEAD = 5  # pickles at the head of a file of torch < 1.6; its tensors follow them


class Refused(Exception):
    """The pickle would take more time, memory or stack than its size allows."""


def look_through(data: bytes, pickles: int = 1) -> None:
    """Raise Refused, or ValueError where there are not so many pickles at its head; execute nothing.

    torch puts keys into dictionaries, and the hash of a tuple walks all that is in it: a tuple of itself, forty
    times over, takes for ever, and one nested a million deep ends the process.
    """
    file = io.BytesIO(data)
    for _ in range(pickles):
        for weight in _weights(file):
            if weight > _HEAVIEST:
                raise Refused("its pickle nests tuples as no checkpoint does")


def _weights(file: io.BytesIO) -> Iterator[int]:
    """The weight of each tuple in turn, from the effects on the stack that pickletools knows of every opcode."""
    mark = -1
    stack: list[int] = []
    memo: dict[int, int] = {}
    for number, (opcode, argument, _) in enumerate(pickletools.genops(file)):
        if number == _LONGEST:
            raise Refused("its pickle is longer than that of any checkpoint")
        name = opcode.name
        if name == "GLOBAL" and argument in _GROWING:
            raise Refused(f"its pickle asks for {str(argument).replace(' ', '.')}, which no checkpoint needs")
        if name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[int(argument or 0)] = stack[-1] if stack else 1
            continue
        if name == "MEMOIZE":
            memo[len(memo)] = stack[-1] if stack else 1
            continue
        taken = _take(stack, opcode, mark)
        if name in _TUPLES:
            stack.append(1 + sum(taken))
            yield stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(memo.get(int(argument or 0), 1))
        else:
            stack += [mark if kind is pickletools.markobject else 1 for kind in opcode.stack_after]


def _take(stack: list[int], opcode: pickletools.OpcodeInfo, mark: int) -> list[int]:
    """What the opcode takes off the stack; below an empty one torch's own reader fails, so nothing is said here."""
    before = opcode.stack_before
    taken: list[int] = []
    if pickletools.markobject in before:
        while stack and stack[-1] != mark:
            taken.append(stack.pop())
        if stack:
            stack.pop()
        before = before[: before.index(pickletools.markobject)]
    for _ in before:
        if stack:
            taken.append(stack.pop())
    return [weight for weight in taken if weight != mark]
