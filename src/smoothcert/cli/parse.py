"""Dataclass → command line, by tyro; what is wrong with a call is said in one line."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from itertools import dropwhile, takewhile
from typing import Any, TypeVar

import tyro

from smoothcert.errors import InputError, did_you_mean

Command = TypeVar("Command")
_DRAWN = re.compile(r"\x1b\[[0-9;]*m|[\u2500-\u257f]|-{3,}")  # colours, boxes, and rules where nothing better is known
_COLOUR = r"(?:\x1b\[[0-9;]*m)"
# What tyro says of an option that one may leave out; where nothing means more than that, our text says it.
_NO_DEFAULT = re.compile(rf"\(default:(?:{_COLOUR}|[\s│])*(?:None|False)?\)")
_LAID_OUT = re.compile(rf"usage|{_COLOUR}|[ │╭╰]")
_SEEDS = ("seed", "recompute_seed")


def parse(command: type[Command], program: str, arguments: Sequence[str]) -> Command:
    """The command with its options filled in; InputError where they make no sense."""
    page, errors = _Page(), io.StringIO()
    # OmitArgPrefixes: options shared by several commands are plain options of each
    config = (
        tyro.conf.OmitArgPrefixes,
        tyro.conf.FlagCreatePairsOff,
        tyro.conf.DisallowNone,
        tyro.conf.PositionalMetavarFromFieldName,
    )
    try:
        with contextlib.redirect_stdout(page), contextlib.redirect_stderr(errors):
            call, unknown = tyro.cli(command, prog=program, args=arguments, config=config, return_unknown_args=True)
    except SystemExit as stop:
        if stop.code in (None, 0):
            print(tidied(page.getvalue(), shutil.get_terminal_size().columns), end="")
            raise
        raise InputError(f"{_first_paragraph(errors.getvalue())} (see {program} --help)") from None
    if unknown:
        hint = did_you_mean(unknown[0], known_options(command)) if unknown[0].startswith("-") else ""
        raise InputError(f"unknown argument {unknown[0]!r}{hint} (see {program} --help)")
    for name in _SEEDS:
        if isinstance(seed := getattr(call, name, None), int):
            require_seed(seed, f"--{name.replace('_', '-')}")
    return call


class _Page(io.StringIO):
    """What tyro prints, with the colours and letters that standard output has."""

    def __init__(self) -> None:
        super().__init__()
        self._shown_on = sys.stdout

    @property
    def encoding(self) -> str | None:  # type: ignore[override]
        return self._shown_on.encoding

    def isatty(self) -> bool:
        return self._shown_on.isatty()


def tidied(page: str, width: int) -> str:
    """The help page without "(default: None)" and the like, whose boxes keep their width; text above them is wrapped.

    >>> print(tidied("Write it.\\n│ --out PATH  a file (default:  │\\n│             None)            │", 80))
    Write it.
    │ --out PATH  a file            │
    """
    blank = re.compile(rf"({_COLOUR})|[^\s│]")
    blanked = _NO_DEFAULT.sub(lambda found: blank.sub(lambda one: one[1] or " ", found[0]), page)
    lines = zip(page.split("\n"), blanked.split("\n"), strict=True)
    kept = [new for old, new in lines if new == old or re.search(r"[^\s│]", re.sub(_COLOUR, "", new))]
    return "\n".join(line if _LAID_OUT.match(line) else textwrap.fill(line, width) for line in kept)


def require_seed(seed: int, option: str) -> None:
    """One that is less than 0 is a slip: nothing writes them so."""
    if seed < 0:
        raise InputError(f"{option} is a whole number from 0 on, not {seed}")


def known_options(command: Any) -> list[str]:
    """--name of every field; a field with fields of its own is a group of options that several commands share."""
    names = []
    for field in fields(command):
        if is_dataclass(field.default_factory):
            names += known_options(field.default_factory)
        elif not str(field.type).startswith("Positional"):
            names.append("--" + field.name.replace("_", "-"))
    return names


def _first_paragraph(message: str) -> str:
    """What tyro says below its title; the help texts that follow are cut."""
    lines = [" ".join(line.split()) for line in _DRAWN.sub("", message).splitlines()]
    below = dropwhile(lambda line: not line, lines[1:])
    return " ".join(takewhile(bool, below)) or " ".join(lines)
