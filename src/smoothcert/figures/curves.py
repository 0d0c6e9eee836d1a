"""Certified accuracy against radius: one panel, one per σ, or one per ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smoothcert.analysis.curve import INSIDE_SMALL, draw_curve, draw_legend, dress, legend_name, top_of
from smoothcert.analysis.names import legend_names, told_apart
from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import NO_SIGMA, Setting, by_panel, setting_of
from smoothcert.errors import InputError
from smoothcert.figures.canvas import canvas
from smoothcert.paper import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Panel:
    """Curves that share axes, each with the label it has in the legend."""

    title: str
    curves: tuple[tuple[str, Results], ...]
    printed: Mapping[str, Row] = field(default_factory=dict)
    """by a curve's label, the paper's row to stand beside it: dots of its colour"""


def plot_curves(everything: Sequence[Results], path: Path, title: str | None = None) -> None:
    """CA(r) of each log as a step curve with a band of one standard error; PNG, PDF or SVG by the file's ending."""
    caption = title if title is not None else _caption(everything)
    plot_panels([Panel(caption, tuple((r.name, r) for r in told_apart(everything)))], path, caption="")


def plot_panels(panels: Sequence[Panel], path: Path, caption: str | None = None) -> None:
    """The panels side by side, their vertical axes alike; n and α stand below unless `caption` says otherwise."""
    everything = [r for panel in panels for _, r in panel.curves]
    if not everything:
        raise InputError("there is no log to draw")
    with canvas(path, len(panels), [len(panel.curves) for panel in panels]) as (figure, axes):
        for ax, panel, looks in zip(axes, panels, looks_of(panels), strict=True):
            _draw(ax, panel, looks, small=len(panels) > 1)
        below = _caption(everything) if caption is None else caption
        if below:
            figure.supxlabel(below, fontsize=8)


def by_sigma(everything: Sequence[Results]) -> list[Panel]:
    """A panel per data set and σ, as figures 2 and 5 of the paper have them."""
    logs = told_apart(everything)
    places = by_panel(logs)
    several = len({name for name, _ in places}) > 1
    panels = []
    for (name, sigma), found in places.items():
        drawn = [logs[place] for place in found]
        title = f"{name}, {sigma}" if several or sigma == NO_SIGMA else sigma
        panels.append(Panel(title, tuple(zip(legend_names(drawn), drawn, strict=True))))
    return panels


def by_ablation(everything: Sequence[Results]) -> list[Panel]:
    """Loss, m and λ: a log belongs into each panel in which it differs from others by that one thing (figure 4)."""
    settings = [(setting_of(r), r) for r in told_apart(everything)]
    plain = [s for s, _ in settings if s.method == "consistency" and s.lbd is not None]
    losses, ms, lbds = [], [], []
    for s, r in settings:
        if s.method in ("mse", "kl", "cross-entropy"):
            losses.append((str(s.method) + ("" if s.lbd is None else f", λ = {s.lbd:g}"), s, r))
        alike = [o for o in plain if _where(o) == _where(s)] if s in plain else []
        if any(o.lbd == s.lbd and o.m != s.m for o in alike):
            ms.append((f"m = {s.m}", s, r))
        if any(o.m == s.m and o.lbd != s.lbd for o in alike):
            lbds.append((f"λ = {s.lbd:g}", s, r))
    gaussian = [(s, r) for s, r in settings if s.method == "gaussian"]
    panels = []
    for title, found, base in (
        ("loss", losses, "Gaussian"),
        ("number of draws m", ms, None),
        ("weight λ", lbds, "λ = 0"),
    ):
        places = {_where(s) for _, s, _ in found}
        below = [(base, r) for s, r in gaussian if _where(s) in places] if base else []
        if found:
            panels.append(Panel(title, _each_once([*below, *((label, r) for label, _, r in found)])))
    if not panels:
        raise InputError("no two of these logs differ by loss, m or λ alone: name them with --loss, --m and --lbd")
    return panels


def _where(s: Setting) -> tuple[str | None, str | None, float | None]:
    return s.dataset, s.network, s.sigma


def _each_once(curves: Sequence[tuple[str, Results]]) -> tuple[tuple[str, Results], ...]:
    """A label that several curves would share gives way to their logs' names, and any does to what a person chose."""
    labels = [label for label, _ in curves]
    return tuple((r.name if r.labelled or labels.count(label) > 1 else label, r) for label, r in curves)


def looks_of(panels: Sequence[Panel]) -> list[list[int]]:
    """For each curve the number of its look: a label keeps that of an earlier panel, no two of a panel share one."""
    known: dict[str, int] = {}
    found = []
    for panel in panels:
        labels = [label for label, _ in panel.curves]
        kept = {known[label] for label in labels if label in known}
        taken: list[int] = []
        for label in labels:
            number = known.get(label)
            if number is None or number in taken:
                number = next(i for i in count() if i not in kept and i not in taken)
            taken.append(number)
            known.setdefault(label, number)
        found.append(taken)
    return found


def _draw(axes: Axes, panel: Panel, looks: Sequence[int], small: bool) -> None:
    top = top_of([r for _, r in panel.curves])
    radii = np.linspace(0, top, 1001)
    width = 60 if not small else 26 if len(looks) <= INSIDE_SMALL else 44
    for (label, results), number in zip(panel.curves, looks, strict=True):
        color = draw_curve(axes, results, radii, legend_name(label, width), number)
        if label in panel.printed:
            printed = [(r, percent / 100) for r, percent in panel.printed[label].accuracy if r <= top]
            axes.plot(*zip(*printed, strict=True), "o", mfc="none", ms=4, color=color)
    dress(axes, " and ".join(sorted({r.header.norm for _, r in panel.curves})), top)
    draw_legend(axes, 7 if small else 9, alone=not small)
    axes.set_title(panel.title, fontsize=10)


def _caption(everything: Sequence[Results]) -> str:
    """n and α of the logs, where they state them: never a number without them."""
    stated = {(r.header.n, r.header.alpha) for r in everything}
    images = sorted({len(r) for r in everything})
    count = f"{images[0]:,}" if len(images) == 1 else f"{images[0]:,}–{images[-1]:,}"
    if len(stated) == 1 and None not in next(iter(stated)):
        n, alpha = next(iter(stated))
        return f"{count} test images, n = {n:,} votes, α = {alpha:g}; band: ± one standard error"
    return f"{count} test images; n and α as in each log; band: ± one standard error"
