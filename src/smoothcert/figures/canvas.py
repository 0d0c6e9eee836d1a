"""A figure of one or more panels, of print quality, written whole to PDF, PNG or SVG."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smoothcert.analysis.curve import INSIDE, INSIDE_SMALL
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE = 0.18  # inches of a line of a legend below a small panel
_SETTINGS: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,  # letters stay letters: journals refuse Type 3 fonts
    "svg.hashsalt": "smoothcert",  # the same log gives the same file
}


@contextlib.contextmanager
def canvas(path: Path, panels: int = 1, curves: Sequence[int] = ()) -> Iterator[tuple[Figure, list[Axes]]]:
    """Axes to draw on, saved to `path` at the end; three panels a row at most. `curves`: how many each panel has."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{path}: a plot is written as .png, .pdf or .svg")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    columns = min(panels, 3)
    rows = -(-panels // columns)
    if panels == 1:
        below = 0.22 * curves[0] if curves and curves[0] > INSIDE else 0.0
        size = (6.4, 4.2 + below)
    else:
        most = [max(curves[i : i + columns], default=0) for i in range(0, panels, columns)]
        size = (3.9 * columns, 3.4 * rows + 0.2 + sum(_LINE * n for n in most if n > INSIDE_SMALL))
    with plt.rc_context(_SETTINGS):
        figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
        try:
            axes = list(grid.flat)
            for empty in axes[panels:]:
                empty.set_visible(False)
            yield figure, axes[:panels]
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=200 if panels == 1 else 160)
        finally:
            plt.close(figure)
