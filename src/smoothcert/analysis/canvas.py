"""A figure of one or more panels, of print quality, written whole to PDF, PNG or SVG."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # told apart by all eyes
INSIDE = 3  # curves whose names fit into a panel that stands alone
INSIDE_SMALL = 5  # and, in small letters, into one of several
_LINE = 0.18  # inches of a line of a legend below a small panel
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
    unbroken = name.replace(" = ", "\u00a0=\u00a0")
    text = textwrap.fill(unbroken, width).replace("\u00a0", " ").replace("$", r"\$")  # no formula is meant
    return f" {text}" if text.startswith("_") else text  # what begins with _ is left out of legends


def draw_legend(axes: Axes, size: int, alone: bool) -> None:
    """Inside the axes; below them where there are more curves than leave room for it."""
    if len(axes.get_legend_handles_labels()[1]) > (INSIDE if alone else INSIDE_SMALL):
        from matplotlib.transforms import ScaledTranslation

        # In inches, not shares of the axes: these get another height while room is made for the legend.
        below = axes.transAxes + ScaledTranslation(-0.5, -0.45, axes.figure.dpi_scale_trans)
        axes.legend(loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, frameon=False, fontsize=size)
    else:
        axes.legend(frameon=False, fontsize=size).set_in_layout(False)  # it may cover, but never squeeze the axes


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
