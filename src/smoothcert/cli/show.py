"""What a person sees while a command works; nothing of it where no person looks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table


def bar(*columns: str) -> Progress:
    """A progress bar on standard error, with rate and time left; silent when that is not a terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        disable=not console.is_terminal,
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


def print_table(header: list[str], rows: list[list[str]], title: str | None = None) -> None:
    """On a terminal a table that fits it; elsewhere the same cells, not cut to any width."""
    console = Console()
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number == 0 else "right", overflow="fold", no_wrap=number > 0)
    for row in rows:
        table.add_row(*row)
    width = console.width if console.is_terminal else 10_000
    Console(width=width).print(table) if console.is_terminal else Console(width=width, soft_wrap=True).print(table)
