"""The page of all commands, as `--help` prints them."""

from __future__ import annotations

import contextlib
import io
import re

from smoothcert.cli import COMMANDS, command_class
from smoothcert.cli.parse import parse

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def help_of(name: str) -> str:
    """What `smoothcert NAME --help` prints, without colours."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        parse(command_class(name), f"smoothcert {name}", ["--help"])
    lines = _COLOURS.sub("", out.getvalue()).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip()


def commands_page() -> str:
    overview = [f"| [`{name}`](#{name}) | {purpose} |" for name, purpose in COMMANDS.items()]
    helps = [f"## {name}\n\n```text\n{help_of(name)}\n```\n" for name in COMMANDS]
    return "\n".join(
        (
            "# Commands\n",
            "What `smoothcert COMMAND --help` prints, command by command. Exit codes: 0 done; 1 done, and the answer",
            "is no, or some logs could not be read; 2 wrong input, in one line; 130 interrupted: the same command",
            "goes on.\n",
            "| command | what it does |\n|---|---|",
            *overview,
            "",
            *helps,
        )
    )
