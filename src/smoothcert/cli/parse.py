"""Dataclass → command line, by tyro; what is wrong with a call is said in one line."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from itertools import dropwhile, takewhile
from typing import Any, TypeVar

import tyro

from smoothcert.errors import InputError, did_you_mean

Command = TypeVar("Command")
_DRAWN = re.compile(r"\x1b\[[0-9;]*m|[\u2500-\u257f]|-{3,}")  # colours, boxes, and rules where nothing better is known
_SEEDS = ("seed", "recompute_seed")


def parse(command: type[Command], program: str, arguments: Sequence[str]) -> Command:
    """The command with its options filled in; InputError where they make no sense."""
    errors = io.StringIO()
    # OmitArgPrefixes: options shared by several commands are plain options of each
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff)
    try:
        with contextlib.redirect_stderr(errors):
            call, unknown = tyro.cli(command, prog=program, args=arguments, config=config, return_unknown_args=True)
    except SystemExit as stop:
        if stop.code in (None, 0):
            raise
        raise InputError(f"{_first_paragraph(errors.getvalue())} (see {program} --help)") from None
    if unknown:
        hint = did_you_mean(unknown[0], known_options(command)) if unknown[0].startswith("-") else ""
        raise InputError(f"unknown argument {unknown[0]!r}{hint} (see {program} --help)")
    for name in _SEEDS:
        if isinstance(seed := getattr(call, name, None), int):
            require_seed(seed, f"--{name.replace('_', '-')}")
    return call


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
