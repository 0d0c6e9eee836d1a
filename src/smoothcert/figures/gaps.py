"""log F_y(x + δ) − max_{c≠y} log F_c(x + δ) over noise draws δ: how often an image crosses the boundary (figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothcert.analysis.curve import draw_legend, legend_name, look
from smoothcert.errors import InputError
from smoothcert.figures.canvas import canvas
from smoothcert.files.reading import read_arrays

_LIMIT = 2**27  # bytes: ten thousand draws of ten methods take a megabyte


def log_probability_gap(logits: ArrayLike, label: int) -> NDArray[np.float64]:
    """(N, K) logits → (N,) gaps. log F = logits − logsumexp, and the latter cancels.

    >>> log_probability_gap([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]], label=0).tolist()
    [1.0, -3.0]
    """
    values = np.array(logits, np.float64)
    if values.ndim != 2 or values.shape[1] < 2 or not 0 <= label < values.shape[1]:
        raise InputError("logits must be a list of draws × classes, and the label one of the classes")
    own = values[:, label].copy()
    values[:, label] = -np.inf
    return own - values.max(1)


def read_gaps(path: Path) -> dict[str, NDArray[np.float64]]:
    """A .npz file with one array of gaps per method."""
    found = read_arrays(path, _LIMIT)
    if not all(array.dtype.kind in "iuf" for array in found.values()):
        raise InputError(f"{path}: must hold arrays of numbers, one per method")
    gaps = {name: array.astype(np.float64).ravel() for name, array in found.items()}
    if not gaps or not all(len(g) and np.isfinite(g).all() for g in gaps.values()):
        raise InputError(f"{path}: must hold an array of finite gaps per method")
    return gaps


def plot_gaps(
    gaps: Mapping[str, NDArray[np.float64]],
    path: Path,
    title: str | None = None,
    panels: Sequence[tuple[str, ...]] | None = None,
) -> None:
    """Histograms on common bins, the misclassified side shaded; `panels`: which methods share one."""
    if not gaps:
        raise InputError("there are no gaps to draw")
    everything = np.concatenate(list(gaps.values()))
    low, high = min(float(everything.min()), -0.5), max(float(everything.max()), 0.5)
    edges = np.linspace(low, high, 81)
    shares = {name: np.histogram(values, edges)[0] / len(values) for name, values in gaps.items()}
    colors = {name: look(i)[0] for i, name in enumerate(gaps)}
    panels = panels or [(name,) for name in gaps]
    room = 1.05 if max(map(len, panels)) == 1 else 1.35  # for the legends
    top = room * max(share.max() for share in shares.values())
    with canvas(path, len(panels)) as (figure, axes):
        for ax, names in zip(axes, panels, strict=True):
            for name in names:
                wrong = f"{legend_name(name, 40)}: {100 * (gaps[name] < 0).mean():.1f} % misclassified"
                alpha = 0.75 if len(names) == 1 else 0.45
                ax.stairs(shares[name], edges, fill=True, color=colors[name], alpha=alpha, label=wrong)
            ax.axvspan(low, 0, color="#B00020", alpha=0.10, lw=0)
            ax.axvline(0, color="#B00020", lw=0.9)
            if len(names) == 1:
                ax.set_title(f"{wrong}, {len(gaps[name]):,} draws", fontsize=9)
            else:
                draw_legend(ax, 8, alone=False)
            ax.set(xlabel="log F_y − max log F_c", ylabel="share of draws", xlim=(low, high), ylim=(0, top))
        if title:
            figure.suptitle(title, fontsize=10)
