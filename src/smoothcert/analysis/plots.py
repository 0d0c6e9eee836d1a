"""Certified accuracy against radius."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from smoothcert.analysis.metrics import certified_accuracy, contributions
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError

_COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)  # told apart by all eyes
_STYLES = ("-", "--", "-.", ":")


def plot_curves(everything: Sequence[Results], path: Path, title: str | None = None) -> None:
    """CA(r) of each log as a step curve with a band of one standard error; PNG, PDF or SVG by the file's ending."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{path}: a plot is written as .png, .pdf or .svg")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    top = max(float(r.radius.max()) for r in everything) * 1.03 or 1.0
    radii = np.linspace(0, top, 1001)
    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        for i, results in enumerate(everything):
            accuracy = certified_accuracy(results, radii)
            band = np.sqrt(accuracy * (1 - accuracy) / len(results))
            color, style = _COLORS[i % len(_COLORS)], _STYLES[i // len(_COLORS) % len(_STYLES)]
            acr = f"{contributions(results).mean():.3f}"
            axes.step(radii, accuracy, style, where="post", color=color, label=f"{results.name}  (ACR {acr})")
            axes.fill_between(radii, accuracy - band, accuracy + band, step="post", color=color, alpha=0.15, lw=0)
        axes.set(
            xlabel=f"radius ({_norms(everything)})",
            ylabel="certified accuracy",
            xlim=(0, top),
            ylim=(0, 1.01),
        )
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=9)
        axes.set_title(title if title is not None else _caption(everything), fontsize=10)
        figure.savefig(path, dpi=160)
        plt.close(figure)


def _norms(everything: Sequence[Results]) -> str:
    """The published TSV logs do not say; all of them are of Gaussian noise."""
    kinds = {r.about.get("noise", {}).get("kind", "gaussian") for r in everything}
    return " and ".join(sorted({"ℓ₂" if kind == "gaussian" else "ℓ₁" for kind in kinds}))


def _caption(everything: Sequence[Results]) -> str:
    """n and α of the logs, where they state them: never a number without them."""
    stated = {(r.about.get("n"), r.about.get("alpha")) for r in everything}
    images = sorted({len(r) for r in everything})
    count = f"{images[0]:,}" if len(images) == 1 else f"{images[0]:,}–{images[-1]:,}"
    if len(stated) == 1 and None not in next(iter(stated)):
        n, alpha = next(iter(stated))
        return f"{count} test images, n = {n:,} votes, α = {alpha:g}; band: ± one standard error"
    return f"{count} test images; n and α as in each log; band: ± one standard error"
