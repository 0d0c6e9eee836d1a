"""The page's charts, drawn by matplotlib as SVG: they need no script, and are printed as they are seen."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.metrics import certified_accuracy, wilson
from smoothcert.analysis.results import Results
from smoothcert.figures.p_a import EDGES
from smoothcert.procedures.certificate import ABSTAIN

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 400, 250  # units of the SVG: about the pixels of a phone, so that letters keep their size there
_MOST_STEPS = 400
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "smoothcert",
    "path.simplify": False,  # a step is level, then upright
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that the same log gives the same page everywhere
    "font.size": 12,
    "xtick.major.size": 0,
    "xtick.major.pad": 7,
    "ytick.major.size": 0,
}
_SERIES = re.compile(r'<g id="log-(\d+)-(line|band)">')
NINES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


def curves(shown: Mapping[int, Results], norm: str) -> Markup:
    """CA(r) of the logs of one panel, each by its number: steps, with Wilson's band."""
    top = max(float(results.radius.max()) for results in shown.values()) * 1.03 or 1.0

    def draw(axes: Axes) -> None:
        for number, results in shown.items():
            radii, accuracy = steps(results, top)
            low, high = wilson(accuracy, len(results))
            axes.step(radii, accuracy, where="pre", gid=f"log-{number}-line")
            x, up, down = _corners(radii), *(np.repeat(ends, 2)[1:] for ends in (high, low))
            axes.fill(np.append(x, x[::-1]), np.append(up, down[::-1]), gid=f"log-{number}-band")
        axes.set(xlim=(0, top), ylim=(0, 1), xlabel=f"{norm} radius", ylabel="certified accuracy")
        axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"])

    return _svg(draw, f"Certified accuracy against {norm} radius; the table below has the numbers")


def steps(results: Results, top: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where CA(r) steps down, and its value from the point before up to there; of too many steps none is too high."""
    ends = np.unique(results.radius[results.correct & (results.predict != ABSTAIN)])
    if len(ends) > _MOST_STEPS:
        ends = np.linspace(0, ends[-1], _MOST_STEPS)
    radii = np.unique(np.concatenate(([0.0], ends, [top])))
    return radii, certified_accuracy(results, radii)


def p_a(found: Mapping[int, Mapping[str, Any]], bins: int) -> Markup:
    """Shares of images by the bound on p_A, in the first `bins`: correct ones upwards, wrong ones downwards."""

    def draw(axes: Axes) -> None:
        for number, shares in found.items():
            for values in (shares["correct"], [-share for share in shares["wrong"]]):
                axes.stairs(values[:bins], EDGES[: bins + 1], fill=False, gid=f"log-{number}-line")
        axes.axhline(0)
        axes.set_xticks([-np.log10(1 - p) for p in NINES], [f"{p:g}" for p in NINES])
        axes.set(xlim=(EDGES[0], EDGES[bins]), xlabel="lower bound on p_A", ylabel="wrong ↓   share   correct ↑")
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * abs(value):g} %")

    return _svg(draw, "Distribution of the lower bound on p_A over images")


def by_epoch(found: Mapping[int, tuple[Sequence[float], Sequence[float]]], label: str) -> Markup:
    """A number of the training logs against the epoch."""
    from matplotlib.ticker import MaxNLocator

    def draw(axes: Axes) -> None:
        for number, (epochs, values) in found.items():
            axes.plot(epochs, values, gid=f"log-{number}-line", marker="o" if len(epochs) == 1 else None)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(x=0)
        axes.set_xlabel("epoch")

    return _svg(draw, label)


def _corners(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the steps that end at these points: x₀ x₁ x₁ x₂ x₂ …"""
    return np.repeat(x, 2)[:-1]


def _svg(draw: Callable[[Axes], None], label: str) -> Markup:
    """What is drawn, without text from a log; colours come from the page's style, by the number of the log."""
    from markupsafe import Markup, escape
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_SETTINGS):
        figure = Figure(figsize=(_WIDTH / 72, _HEIGHT / 72), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.grid(True)
        axes.set_axisbelow(True)
        for part in (figure.patch, axes.patch, *axes.spines.values()):
            part.set_visible(False)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    (left, _), (right, _) = (axes.transAxes.transform((end, 0)) for end in (0, 1))
    scale = 72 / figure.dpi
    low, high = axes.get_xlim()
    said = {"data-left": left * scale, "data-right": right * scale, "data-low": low, "data-high": high}
    about = " ".join(f'{key}="{value:.6g}"' for key, value in said.items())
    start = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" tabindex="0" {about} aria-label="{escape(label)}">'
    body = out.getvalue().partition("<svg")[2].partition("</defs>")[2]  # after a style for the whole page
    body = _SERIES.sub(lambda m: f'<g class="series {m[2]} {look(int(m[1]))}" data-log="{m[1]}">', body)
    body = re.sub(r'<g id="[^"]*"/>', "", body)
    body = re.sub(r'<g id="[^"]*">', "<g>", body)
    body = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), body)
    body = re.sub(r'(<path [^>]*?) style="[^"]*"', r"\1", body)
    return Markup(start + re.sub(r"\s+", " ", body))


def look(number: int) -> str:
    """Classes of the page's style: a colour, and dashes where the colours are used up."""
    return f"log{(number - 1) % 7} dash{(number - 1) // 7 % 4}"
