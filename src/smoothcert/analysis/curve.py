"""CA(r) of one log, drawn on anyone's axes, and the legend beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.metrics import certified_accuracy, summarize
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from smoothcert.analysis.results import Results

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # told apart by all eyes
INSIDE = 3  # curves whose names fit into a panel that stands alone
INSIDE_SMALL = 5  # and, in small letters, into one of several
STYLES = ("-", "--", "-.", ":")


def add_curve(axes: Axes, results: Results) -> None:
    """One more curve on anyone's axes, which grow where its radii need room."""
    drawn = len(axes.get_lines())
    top = max(top_of([results]), axes.get_xlim()[1] if drawn else 0.0)
    norm, before = results.header.norm, axes.get_xlabel()
    if before.startswith("radius (") and before != f"radius ({norm})":
        raise InputError(f"{results.name}: certifies in another norm than the logs on these axes: draw it on others")
    draw_curve(axes, results, np.linspace(0, top, 1001), legend_name(results.name, 60), drawn)
    dress(axes, norm, top)
    draw_legend(axes, 9, alone=True)


def top_of(everything: Sequence[Results]) -> float:
    return max(float(r.radius.max()) for r in everything) * 1.03 or 1.0


def draw_curve(axes: Axes, results: Results, radii: NDArray[np.float64], name: str, number: int) -> str:
    """The steps of CA(r) and their band; returns their colour."""
    accuracy = certified_accuracy(results, radii)
    band = np.sqrt(accuracy * (1 - accuracy) / len(results))
    color, style = look(number)
    acr = summarize(results, []).acr
    legend = name if acr is None else f"{name}  (ACR {acr:.3f})"
    axes.step(radii, accuracy, style, where="post", color=color, label=legend, lw=1.4)
    axes.fill_between(radii, accuracy - band, accuracy + band, step="post", color=color, alpha=0.15, lw=0)
    return color


def dress(axes: Axes, norm: str, top: float) -> None:
    axes.set(xlabel=f"radius ({norm})", ylabel="certified accuracy", xlim=(0, top), ylim=(0, 1.01))
    axes.grid(alpha=0.25)


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
