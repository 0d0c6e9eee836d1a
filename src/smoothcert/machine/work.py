"""Long work that says what happens: an iterator of events with a result at its end."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator
from typing import Generic, ParamSpec, TypeVar

from smoothcert.errors import InputError

Event = TypeVar("Event")
Result = TypeVar("Result")
P = ParamSpec("P")


class Work(Iterator[Event], Generic[Event, Result]):
    """Iterate over its events, or call `finish()`; nothing is done before.

    Whoever stops iterating stops the work: what was done is saved, and the same call goes on from there. Locks are
    held from the first event until the work is finished, closed, or forgotten.
    """

    def __init__(self, events: Generator[Event, None, Result]) -> None:
        self._events, self._results = events, list[Result]()

    def __next__(self) -> Event:
        try:
            return next(self._events)
        except StopIteration as stop:
            self._results = self._results or [stop.value]  # a generator tells it once
            raise

    def finish(self) -> Result:
        """Do all that is left, and return the result."""
        for _ in self:
            pass
        return self.result

    def close(self) -> None:
        """Stop here; what was done is saved."""
        self._events.close()

    @property
    def result(self) -> Result:
        """Known once all events have been seen."""
        if not self._results:
            raise InputError("this work is not finished: iterate over it, or call finish()")
        return self._results[0]


def work(steps: Callable[P, Generator[Event, None, Result]]) -> Callable[P, Work[Event, Result]]:
    """A generator function → a function that returns `Work`."""

    @functools.wraps(steps)
    def start(*args: P.args, **options: P.kwargs) -> Work[Event, Result]:
        return Work(steps(*args, **options))

    return start
