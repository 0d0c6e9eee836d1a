"""What a person sees while a command works, and what a log file gets."""

import io
import re
from dataclasses import dataclass, fields
from importlib import import_module

import pytest
from rich.console import Console

from smoothcert.cli.display import Display, progress_bar, shown
from smoothcert.machine.work import work


@dataclass(frozen=True)
class Event:
    done: int
    total: int = 10_000

    def __str__(self):
        return "ACR 1.234  certified 95.6%  12.3 s/image"


def rendered(width):
    """A bar after 1,234 of 10,000 images in 1,234 seconds."""
    console, now = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None), [0.0]
    bar = progress_bar(console)
    bar.get_time = lambda: now[0]
    task = bar.add_task("certify mnist-smoothadv+consistency-short-0.50-seed0", total=10_000, note=str(Event(1)))
    for done in range(1, 1235):
        now[0] = float(done)
        bar.update(task, completed=done)
    console.print(bar.get_renderable())
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_narrow_terminal_cuts_words_before_count_and_time_left(width):
    (line,) = rendered(width)
    assert len(line) <= width and line.startswith("certify ")
    assert re.search(r"\b1234/10000\b", line) and line.rstrip().endswith("2:26:06")  # 8,766 s left
    assert ("s/image" in line) == (width == 200)


@pytest.mark.parametrize(("style", "lines"), [("plain", 3), ("auto", 3), ("none", 0)])
def test_without_a_terminal_there_are_plain_lines_with_the_time_left_or_none(capsys, style, lines):
    with Display("certify run", style, pause=0.0) as display:
        for done in (1, 2, 3):
            display.show(Event(done))
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == lines
    assert all(re.fullmatch(r"certify run  \d/10,000  ACR .*  [\d,]+ s left", line) for line in said.err.splitlines())


def test_a_bar_can_be_asked_for(capsys):
    with Display("certify run", "bar") as display:
        display.show(Event(10_000))
    said = capsys.readouterr()
    assert said.out == "" and "10000/10000" in said.err


def test_work_that_is_interrupted_gives_back_what_it_holds():
    left = []

    @work
    def steps():
        try:
            yield Event(1)
        finally:
            left.append(True)

    running = steps()
    with pytest.raises(KeyboardInterrupt), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Display, "show", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        shown(running, "x")
    assert left == [True]


@pytest.mark.parametrize("name", ["train", "certify", "predict", "audit", "reproduce", "selftest"])
def test_every_long_command_can_be_told_how_to_show_progress(name):
    command = getattr(import_module(f"smoothcert.cli.{name}"), name.title())
    assert {field.name: field.default for field in fields(command)}["progress"] == "auto"
