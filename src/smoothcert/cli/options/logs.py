"""Logs that commands show together: labelled or told apart, and what cannot be read left out aloud."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.analysis import Results


@contextlib.contextmanager
def readable(*groups: Sequence[Path], labels: Sequence[str] = ()) -> Iterator[tuple[dict[Path, Results], ...]]:
    """Of each group the logs that can be read, by what they were named by, in order.

    The others are named on standard error, one line each; when the block is done the command then exits with 1. If
    nothing can be read, it fails at once.
    """
    from smoothcert.analysis import read_results
    from smoothcert.analysis.names import told_apart
    from smoothcert.cli import complain
    from smoothcert.records.parts import one_per_log

    asked = [one_per_log(group) for group in groups]
    logs = [path for group in asked for path in group]
    if not logs:
        raise InputError("name at least one run folder or log")
    if labels and len(labels) != len(logs):
        raise InputError(f"--label names {len(labels)} of {len(logs)} logs: give one for each, in their order")
    words = iter(labels)
    found: list[dict[Path, Results]] = []
    failed: list[str] = []
    for group in asked:
        read: dict[Path, Results] = {}
        for path in group:
            label = next(words, None)
            try:
                results = read_results(path)
            except InputError as error:
                failed.append(str(error))
            else:
                read[path] = results if label is None else replace(results, name=label, labelled=True)
        found.append(dict(zip(read, told_apart(list(read.values())), strict=True)))
    if not any(found):
        more = f" (and {len(failed) - 1} other logs cannot be read)" if len(failed) > 1 else ""
        raise InputError(failed[0] + more)
    for message in failed:
        complain(f"left out: {message}")
    yield tuple(found)
    if failed:
        sys.stdout.flush()
        sys.exit(1)
