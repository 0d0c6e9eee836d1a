"""How sure the certified predictions are: the distribution of p̲_A over images, which an average radius hides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.curve import draw_legend, legend_name, look
from smoothcert.analysis.names import told_apart
from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import setting_of
from smoothcert.errors import InputError
from smoothcert.figures.canvas import canvas
from smoothcert.noise import Gaussian
from smoothcert.procedures.certificate import ABSTAIN

EDGES = np.concatenate(([np.log10(2)], np.arange(0.5, 6.01, 0.25)))
"""Bins in nines, −log₁₀(1 − p): p_A gathers near 1, where 0.999 and 0.9999 are far apart in radius."""


@dataclass(frozen=True)
class Distribution:
    """Shares of all images: correct and wrong by the bin of their p̲_A, and the abstentions, which have none."""

    correct: NDArray[np.float64]
    wrong: NDArray[np.float64]
    abstained: float


def lower_bounds(results: Results) -> NDArray[np.float64]:
    """q̄ = 1 − p̲_A per image, read back from the radius; ½ where it abstained. On a grid, exact to four digits."""
    noise = results.header.noise
    if noise is None:
        sigma = setting_of(results).sigma
        if sigma is None:
            raise InputError(f"{results.name}: the log does not say its σ; put it in the file's name, as in sigma0.50")
        noise = Gaussian(sigma)
    q = np.geomspace(0.5, 1e-9, 2000)
    radii = np.array([noise.radius_from_error(float(each)) for each in q])  # rises as q falls
    return np.exp(np.interp(results.radius, radii, np.log(q)))


def distribution(results: Results) -> Distribution:
    nines = np.clip(-np.log10(lower_bounds(results)), EDGES[0], EDGES[-1] - 1e-9)
    said = results.predict != ABSTAIN
    correct, _ = np.histogram(nines[said & results.correct], EDGES)
    wrong, _ = np.histogram(nines[said & ~results.correct], EDGES)
    return Distribution(correct / len(results), wrong / len(results), float((~said).mean()))


def plot_p_a(everything: Sequence[Results], path: Path) -> None:
    """A step histogram per log: correct images upwards, wrong ones downwards, abstentions in the legend."""
    with canvas(path, curves=[len(everything)]) as (_, (axes,)):
        top = EDGES[2]
        for i, results in enumerate(told_apart(everything)):
            found, (color, style) = distribution(results), look(i)
            legend = f"{legend_name(results.name, 60)}  (abstained {100 * found.abstained:.1f} %)"
            axes.stairs(found.correct, EDGES, color=color, ls=style, label=legend, lw=1.4)
            axes.stairs(-found.wrong, EDGES, color=color, ls=style, lw=1.4)
            filled = np.flatnonzero(found.correct + found.wrong)
            top = max(top, EDGES[min(filled.max() + 1, len(EDGES) - 1)] if len(filled) else top)
        ticks = [-np.log10(1 - p) for p in (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)]
        axes.set_xticks(ticks, ["0.5", "0.9", "0.99", "0.999", "0.9999", "0.99999"])
        axes.set_xlim(EDGES[0], top + 0.1)
        axes.axhline(0, color="black", lw=0.8)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * abs(value):g} %")
        axes.set(xlabel="lower bound on p_A (scale: number of nines)", ylabel="share of images: wrong ↓   correct ↑")
        axes.grid(alpha=0.25)
        draw_legend(axes, 8, alone=True)
        sizes = sorted({f"{len(r):,} images, {_stated(r)}" for r in everything})
        axes.set_title("; ".join(sizes) if len(sizes) < 3 else "images, n and α as in each log", fontsize=9)


def _stated(results: Results) -> str:
    n, alpha = results.header.n, results.header.alpha
    return "n and α not stated" if n is None else f"n = {n:,}, α = {alpha:g}"
