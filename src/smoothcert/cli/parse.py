"""Dataclass → command line, by tyro; its boxed error messages become one line."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from typing import TypeVar

import tyro

from smoothcert.errors import InputError

Command = TypeVar("Command")


def parse(command: type[Command], program: str, arguments: Sequence[str]) -> Command:
    """The command with its options filled in; InputError where they make no sense."""
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            # OmitArgPrefixes: options shared by several commands are plain options of each
            config = (tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff)
            return tyro.cli(command, prog=program, args=arguments, config=config)
    except SystemExit as stop:
        if stop.code in (None, 0):
            raise
        raise InputError(f"{_one_line(errors.getvalue())} (see {program} --help)") from None


def _one_line(box: str) -> str:
    """The first paragraph of tyro's box, and the first option it would rather have seen."""
    lines = [line.strip("│╭╮╰╯ ") for line in re.sub(r"\x1b\[[0-9;]*m", "", box).splitlines()]
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if not line.strip("─"):
            paragraphs.append([])
        elif not line.endswith("──") and not line.startswith("─ "):
            paragraphs[-1].append(line)
    message = " ".join(next((p for p in paragraphs if p), ["wrong options"]))
    meant = re.search(r"Perhaps you meant:\s+(--[\w-]+)", " ".join(lines))
    return message + (f": did you mean {meant[1]}?" if meant else "")
