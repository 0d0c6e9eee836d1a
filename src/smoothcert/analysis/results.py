"""What a certification found, whoever wrote the log: ours (JSON lines) or the community's (TSV)."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.published import name_of_path
from smoothcert.certification.parts import files_of, one_per_log, read_whole, whole_path
from smoothcert.errors import InputError
from smoothcert.records.reading import read_unzipped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame  # type: ignore[import-untyped]

_COLUMNS = ("idx", "label", "predict", "radius", "correct")
Votes = dict[str, int]
LARGEST_RADIUS = 1e4  # images in [0, 1]^d are √d apart at most, d in ℓ₁
_LIMIT = 2**25  # bytes of an unpacked TSV log: ten thousand images take half a megabyte


@dataclass(frozen=True)
class Results:
    """What one log found: an entry per image. `about` is the log's header, empty where the log has none (TSV).

    Example:
        >>> from smoothcert import read_log
        >>> log = read_log("results/runs/mnist-consistency-0.50-seed0")  # doctest: +SKIP
        >>> log.acr, log.acr_interval, log.certified_accuracy(1.0)  # doctest: +SKIP
    """

    name: str
    index: NDArray[np.int64]
    label: NDArray[np.int64]
    predict: NDArray[np.int64]
    radius: NDArray[np.float64]
    correct: NDArray[np.bool_]
    about: dict[str, Any]
    path: Path | None = None
    """the log: image i of this stands in its line i + 2"""
    seconds: NDArray[np.float64] | None = None
    """time each image took, NaN where the log does not say"""
    selection: tuple[Votes, ...] | None = None
    """the votes that chose the class, where the log keeps them (ours do, TSV does not)"""
    estimation: tuple[Votes, ...] | None = None
    """the fresh votes that judged it"""
    labelled: bool = False
    """whether a person chose the name: then it is shown as it is"""

    def __len__(self) -> int:
        return len(self.index)

    @property
    def acr(self) -> float | None:
        """ACR = mean of radius · 1[correct]; None where radii are points of a grid (`curve`)."""
        from smoothcert.analysis.metrics import summarize

        return summarize(self, []).acr

    @property
    def acr_interval(self) -> tuple[float, float] | None:
        """ACR ± t₍ₙ₋₁₎ · s/√n: its 95 % interval for other images like these; None without an ACR, or of one image."""
        from scipy.special import stdtrit

        from smoothcert.analysis.metrics import summarize

        found = summarize(self, [])
        if found.acr is None or len(self) < 2:
            return None
        reach = float(stdtrit(len(self) - 1, 0.975)) * found.acr_standard_error
        return found.acr - reach, found.acr + reach

    def certified_accuracy(self, r: float) -> float:
        """CA(r) = share of images classified correctly, not abstained, with certified radius ≥ r.

        Args:
            r: a radius; of a `curve` log one of its grid

        Returns:
            a share between 0 and 1

        Example:
            >>> log = Results("a", *np.array([[0, 1], [7, 2], [7, -1]]), np.array([0.5, 0]), np.array([1, 0], bool), {})
            >>> log.certified_accuracy(0.5), log.certified_accuracy(0.51)
            (0.5, 0.0)
        """
        from smoothcert.analysis.metrics import summarize

        found = summarize(self, [r]).certified_accuracy[float(r)]
        if found is None:
            raise InputError(f"{self.name}: a log of `curve` knows the radii of its grid only, and {r:g} is not one")
        return found

    def certified_accuracy_interval(self, r: float) -> tuple[float, float]:
        """Wilson's 95 % interval of CA(r), for other images like these.

        Args:
            r: a radius; of a `curve` log one of its grid

        Returns:
            its two ends, between 0 and 1

        Example:
            >>> log = Results("a", *np.array([[0, 1], [7, 2], [7, -1]]), np.array([0.5, 0]), np.array([1, 0], bool), {})
            >>> [round(end, 3) for end in log.certified_accuracy_interval(0.5)]
            [0.095, 0.905]
        """
        from smoothcert.analysis.report_data import wilson

        low, high = wilson(np.array(self.certified_accuracy(r)), len(self))
        return float(low), float(high)

    def to_frame(self) -> DataFrame:
        """The log as a pandas table, one row per image.

        Returns:
            columns index, label, predict (−1: abstained), radius, correct, and seconds where the log has them

        Example:
            >>> log = Results("a", *np.array([[0, 1], [7, 2], [7, -1]]), np.array([0.5, 0]), np.array([1, 0], bool), {})
            >>> log.to_frame().query("correct").radius.max()  # doctest: +SKIP
            0.5
        """
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise InputError("to_frame needs pandas: pip install pandas") from error
        columns = ("index", "label", "predict", "radius", "correct", "seconds")
        return DataFrame({c: values for c in columns if (values := getattr(self, c)) is not None})

    def plot(self, ax: Axes | None = None) -> Axes:
        """CA(r) as a step curve with a band of one standard error; further logs go on the same axes.

        Args:
            ax: where to draw; None: matplotlib's current axes

        Returns:
            the axes, to go on with

        Example:
            >>> ax = None
            >>> for log in logs:  # doctest: +SKIP
            ...     ax = log.plot(ax)
        """
        from smoothcert.analysis.plots import add_curve

        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.gca()
        add_curve(ax, self)
        return ax


def read_log(path: str | Path) -> Results:
    """A certification log, whoever wrote it: of a run folder, JSON lines, or the community's TSV; gzipped or not.

    Args:
        path: a run folder or a log

    Returns:
        what was found for each image, with ACR, certified accuracy, their intervals, a table and a plot

    Example:
        >>> read_log("nowhere")
        Traceback (most recent call last):
        smoothcert.errors.InputError: nowhere: no such file or folder
    """
    return read_results(Path(path))


def read_results(path: Path) -> Results:
    """A run folder, a certification log or one of its parts, or a TSV log; logs may be gzipped."""
    log = whole_path(path)
    if path.is_dir() and not files_of(log):
        raise InputError(f"{path}: holds no certification log: run `smoothcert certify {path}` first")
    if not path.exists() and not files_of(log):
        raise InputError(f"{path}: no such file or folder")
    if not path.is_file() or _first_byte(path) == b"{":
        return _from_log(log)
    try:
        return _from_tsv(path, read_unzipped(path, _LIMIT).decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read ({error.reason})") from error


def read_all(paths: Sequence[Path]) -> list[Results]:
    """One for each log, in order: several parts of one log stand for it together."""
    return [read_results(path) for path in one_per_log(paths)]


def _first_byte(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            first = file.read(2)
        if first == b"\x1f\x8b":
            with gzip.open(path) as unpacked:
                first = unpacked.read(1)
        return first[:1]
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _from_log(path: Path) -> Results:
    log = read_whole(path)
    try:
        columns = {key: [row[key] for row in log.rows] for key in ("index", *_COLUMNS[1:])}
        # The pair bound proves larger radii than the single one: not to be mixed up.
        name = f"{log.name} (pair bound)" if log.decides.get("bound") == "pair" else log.name
        found = _results(path, name, columns, log.decides)
    except KeyError as error:
        raise InputError(f"{path}: a row has no {error}") from error
    seconds = [row.get("seconds") for row in log.rows]
    return replace(
        found,
        seconds=np.array(
            [s if isinstance(s, int | float) and abs(s) < 1e15 else math.nan for s in seconds], np.float64
        ),
        selection=_votes(path, log.rows, "selection"),
        estimation=_votes(path, log.rows, "estimation"),
    )


def _votes(path: Path, rows: list[dict[str, Any]], key: str) -> tuple[Votes, ...] | None:
    """Votes by class; None where a row has none."""
    found = [row.get(key) for row in rows]
    if None in found:
        return None
    for votes in found:
        if not isinstance(votes, dict) or not all(type(v) is int and 0 <= v < 2**53 for v in votes.values()):
            raise InputError(f"{path}: `{key}` must hold whole numbers by class")
    return tuple(votes for votes in found if votes is not None)


def _from_tsv(path: Path, text: str) -> Results:
    lines = text.splitlines()
    header = lines[0].split("\t") if lines else []
    missing = [c for c in _COLUMNS if c not in header]
    if missing:
        raise InputError(f"{path}: not a certification log (a TSV log has the columns {', '.join(_COLUMNS)})")
    if lines and not text.endswith("\n") and lines[-1].count("\t") < len(header) - 1:
        lines.pop()  # the writer was cut off in the middle of it
    columns: dict[str, list[Any]] = {("index" if c == "idx" else c): [] for c in _COLUMNS}
    where = {c: header.index("idx" if c == "index" else c) for c in columns}
    clock = header.index("time") if "time" in header else None
    seconds = []
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        try:
            for column, values in columns.items():
                cell = cells[where[column]]
                values.append(float(cell) if column == "radius" else int(cell))
        except (ValueError, IndexError):
            raise InputError(f"{path}: line {number} is not a row of a certification log") from None
        seconds.append(_seconds(cells[clock]) if clock is not None and clock < len(cells) else math.nan)
    found = _results(path, name_of_path(path.absolute()), columns, {})
    return replace(found, seconds=np.array(seconds, np.float64))


def _seconds(cell: str) -> float:
    """H:MM:SS.ffffff as Python prints a timedelta; the column is a courtesy, so what is not one is just unknown."""
    try:
        hours, minutes, seconds = cell.split(":")
        return 3600 * float(hours) + 60 * float(minutes) + float(seconds)
    except ValueError:
        return math.nan


def _results(path: Path, name: str, columns: dict[str, list[Any]], about: dict[str, Any]) -> Results:
    if not columns["index"]:
        raise InputError(f"{path}: holds no certified image yet")
    for column in ("index", "label", "predict"):
        if not all(type(value) is int and abs(value) < 2**53 for value in columns[column]):
            raise InputError(f"{path}: an index, label or prediction is not a whole number")
    index, label, predict = (np.array(columns[c], np.int64) for c in ("index", "label", "predict"))
    if len(set(columns["index"])) < len(columns["index"]):
        raise InputError(f"{path}: lists an image twice")
    if not all(isinstance(r, int | float) and 0 <= r <= LARGEST_RADIUS for r in columns["radius"]):
        raise InputError(f"{path}: a radius is negative or not a number of at most {LARGEST_RADIUS:g}")
    if not all(c in (0, 1) for c in columns["correct"]):
        raise InputError(f"{path}: the column `correct` must hold 0 or 1")
    radius = np.array(columns["radius"], np.float64)
    correct = np.array(columns["correct"], bool)
    return Results(name, index, label, predict, radius, correct, about, path)
