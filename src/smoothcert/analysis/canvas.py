"""A figure of one or more panels, of print quality, written whole to PDF, PNG or SVG."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # told apart by all eyes
INSIDE = 3  # curves whose names fit into a panel that stands alone
STYLES = ("-", "--", "-.", ":")
_SETTINGS: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,  # letters stay letters: journals refuse Type 3 fonts
    "svg.hashsalt": "smoothcert",  # the same log gives the same file
}


def look(i: int) -> tuple[str, str]:
    """Colour and dashes of the i-th curve: after all colours the same ones come back dashed."""
    return COLORS[i % len(COLORS)], STYLES[i // len(COLORS) % len(STYLES)]


def legend_name(name: str, width: int) -> str:
    """At most two lines of this width: a long name loses its middle, for its ends tell it from others."""
    if len(name) > 2 * width:
        name = f"{name[: width - 1]}…{name[-width:]}"
    return textwrap.fill(name, width)


def draw_legend(axes: Axes, size: int, alone: bool) -> None:
    """Inside the axes; below them where they stand alone and there are more curves than leave room for it."""
    handles, labels = axes.get_legend_handles_labels()
    if alone and len(labels) > INSIDE:
        axes.figure.legend(handles, labels, loc="outside lower left", frameon=False, fontsize=size)
    else:
        axes.legend(frameon=False, fontsize=size).set_in_layout(False)  # it may cover, but never squeeze the axes


@contextlib.contextmanager
def canvas(path: Path, panels: int = 1, curves: int = 1) -> Iterator[tuple[Figure, list[Axes]]]:
    """Axes to draw on, saved to `path` at the end; three panels a row at most. `curves`: how many a lone panel has."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{path}: a plot is written as .png, .pdf or .svg")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    columns = min(panels, 3)
    rows = -(-panels // columns)
    below = 0.22 * curves if curves > INSIDE else 0.0
    size = (6.4, 4.2 + below) if panels == 1 else (3.9 * columns, 3.4 * rows + 0.2)
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
