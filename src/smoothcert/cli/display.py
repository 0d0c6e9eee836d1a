"""What a person sees while a command works: a bar on a terminal, elsewhere a plain line now and then."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Protocol, TypeVar, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from smoothcert.cli import complain
from smoothcert.cli.options.progress import Style
from smoothcert.files.finite import finite
from smoothcert.machine.processes import place
from smoothcert.machine.work import Work

Result = TypeVar("Result")
_LINES = 30.0  # seconds between two lines where there is no terminal
_PAUSE = 0.25  # seconds between two looks at a number: reading it off a device costs a wait


@runtime_checkable
class Counted(Protocol):
    """An event that knows how far the work is, and says the rest as `str(event)`."""

    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...


class Words(ProgressColumn):
    """Words on one line, cut where the terminal is too narrow: count and time left are not."""

    def __init__(self, of: Callable[[Task], str]) -> None:
        super().__init__(Column(overflow="ellipsis"))
        self._of = of

    def render(self, task: Task) -> Text:
        return Text(self._of(task), no_wrap=True, overflow="ellipsis")


def progress_bar(console: Console, disable: bool = False) -> Progress:
    """Title, bar, count, note and time left."""
    return Progress(
        Words(lambda task: task.description),
        BarColumn(bar_width=20),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        Words(lambda task: str(task.fields["note"])),
        TimeRemainingColumn(elapsed_when_finished=True, table_column=Column(no_wrap=True)),
        console=console,
        disable=disable,
        refresh_per_second=4,
    )


class Display:
    """Progress on standard error, with time left: a bar on a terminal, elsewhere a line every `pause` seconds.

    Of several processes only the first has one.
    """

    def __init__(self, title: str, style: Style = "auto", pause: float = _LINES) -> None:
        console = Console(stderr=True, force_terminal=True if style == "bar" else None)
        drawn = style == "bar" or (style == "auto" and console.is_terminal)
        self._silent = style == "none" or not place().first
        self._bar = progress_bar(console, disable=self._silent or not drawn)
        self._pause = pause if self._bar.disable else _PAUSE
        self._title, self._shown = title, time.perf_counter()
        self._first: tuple[float, int] | None = None
        self._told = set[str]()

    def __enter__(self) -> Display:
        self._bar.start()
        self._task = self._bar.add_task(self._title, total=None, note="")
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, event: object) -> None:
        """What is no count is not shown."""
        if self._silent or not isinstance(event, Counted):
            return
        note = getattr(event, "note", "")
        if note and note not in self._told:
            self._told.add(note)
            complain(note)
        now, last = time.perf_counter(), event.done == event.total and not self._bar.disable
        if self._first is None or event.done < self._first[1]:  # of another count: time left is its own
            self._first = (now, event.done)
        if not last and now - self._shown < self._pause:
            return
        self._shown = now
        if not self._bar.disable:
            self._bar.update(self._task, completed=event.done, total=event.total, note=str(event))
            return
        since, before = self._first
        left = (now - since) * (event.total - event.done) / max(1, event.done - before)
        line = f"{self._title}  {event.done:,}/{event.total:,}  {event}  {left:,.0f} s left"
        print(line, file=sys.stderr, flush=True)


def shown(work: Work[Any, Result], title: str, style: Style = "auto", pause: float = _LINES) -> Result:
    """Let it work to the end and show its progress; its result."""
    with closing(work), Display(title, style, pause) as display:  # closed: an interrupted one gives its locks back
        for event in work:
            display.show(event)
    return work.result


def print_json(document: Any) -> None:
    """What --json means in every command: this one document on standard output, and nothing else there."""
    print(json.dumps(finite(document), indent=2, ensure_ascii=False, allow_nan=False))


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
