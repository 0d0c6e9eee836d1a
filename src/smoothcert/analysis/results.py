"""What a certification found, whoever wrote the log: ours (JSON lines) or the community's (TSV)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.published import name_of_path
from smoothcert.errors import InputError
from smoothcert.files.reading import first_byte
from smoothcert.records.header import UNSTATED, Header
from smoothcert.records.log import CertificationLog
from smoothcert.records.parts import files_of, read_whole, whole_path
from smoothcert.records.row import Votes
from smoothcert.records.tsv import read_tsv

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Results:
    """What one log found: an entry per image. The header of a TSV log states nothing.

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
    header: Header = UNSTATED
    path: Path | None = None
    """the log: image i of this stands in its line i + 2"""
    seconds: NDArray[np.float64] | None = None
    """time each image took, NaN where the log does not say"""
    estimation: tuple[Votes, ...] | None = None
    """the fresh votes that judged each class, where the log keeps them (ours do, TSV does not)"""
    labelled: bool = False
    """whether a person chose the name: then it is shown as it is"""
    environment: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """versions, and when it was begun, as the log says; decides nothing"""

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
            >>> log = Results("a", *np.array([[0, 1], [7, 2], [7, -1]]), np.array([0.5, 0]), np.array([1, 0], bool))
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
            >>> log = Results("a", *np.array([[0, 1], [7, 2], [7, -1]]), np.array([0.5, 0]), np.array([1, 0], bool))
            >>> [round(end, 3) for end in log.certified_accuracy_interval(0.5)]
            [0.095, 0.905]
        """
        from smoothcert.analysis.metrics import wilson

        low, high = wilson(np.array(self.certified_accuracy(r)), len(self))
        return float(low), float(high)

    def to_frame(self) -> DataFrame:
        """The log as a pandas table, one row per image.

        Returns:
            columns index, label, predict (−1: abstained), radius, correct, and seconds where the log has them

        Example:
            >>> log = Results("a", *np.array([[0, 1], [7, 2], [7, -1]]), np.array([0.5, 0]), np.array([1, 0], bool))
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
        from smoothcert.analysis.curve import add_curve

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
    if not path.is_file() or first_byte(path) == b"{":
        found = read_whole(log)
        # The pair bound proves larger radii than the single one: not to be mixed up.
        return _results(found, f"{found.name} (pair bound)" if found.header.bound == "pair" else found.name)
    return _results(read_tsv(path), name_of_path(path.absolute()))


def _results(log: CertificationLog, name: str) -> Results:
    rows = log.rows
    if not rows:
        raise InputError(f"{log.path}: holds no certified image yet")
    if not log.header.labelled:
        raise InputError(
            f"{log.path}: its images have no labels, so nothing is known of accuracy: certify with --labels"
        )
    voted = all("estimation" in row for row in rows)
    return Results(
        name,
        np.array([row["index"] for row in rows], np.int64),
        np.array([row["label"] for row in rows], np.int64),
        np.array([row["predict"] for row in rows], np.int64),
        np.array([row["radius"] for row in rows], np.float64),
        np.array([row["correct"] for row in rows], bool),
        log.header,
        log.path,
        np.array([row.get("seconds", math.nan) for row in rows], np.float64),
        tuple(row["estimation"] for row in rows) if voted else None,
        environment=log.environment,
    )
