"""What a person sees while a command works; nothing of it where no person looks."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from smoothcert.machine.processes import place


def bar() -> Progress:
    """A progress bar on standard error, with rate and time left; silent when that is not a terminal.

    Of several processes only the first has one.
    """
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        disable=not (console.is_terminal and place().first),
        refresh_per_second=4,
    )


def at_most_every(seconds: float, events: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """Each event, and whether it is time to show it: reading a number off a device costs a wait."""
    last = 0.0
    for event in events:
        now = time.perf_counter()
        due = now - last >= seconds
        last = now if due else last
        yield event, due


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """Aligned columns; on a terminal too narrow for all of them, in several blocks that repeat the first column."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10**9
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for number, block in enumerate(_blocks(widths, width)):
        if number:
            print()
        for row in (header, *rows):
            cells = (row[i].rjust(widths[i]) if _is_number(rows, i) else row[i].ljust(widths[i]) for i in block)
            print("  ".join(cells).rstrip())


def _blocks(widths: list[int], width: int) -> Iterator[list[int]]:
    block, used = [0], widths[0]
    for i in range(1, len(widths)):
        if len(block) > 1 and used + 2 + widths[i] > width:
            yield block
            block, used = [0], widths[0]
        block.append(i)
        used += 2 + widths[i]
    yield block


def _is_number(rows: list[list[str]], column: int) -> bool:
    return column > 0 and all(row[column][:1] in "0123456789+-–" for row in rows)
