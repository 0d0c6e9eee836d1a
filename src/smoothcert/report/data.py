"""The numbers behind a report's readouts, gallery and log tables, as plain lists for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.metrics import certified_accuracy, wilson
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError
from smoothcert.figures.p_a import EDGES, distribution
from smoothcert.procedures.certificate import ABSTAIN

PER_KIND = 12
"""images the gallery shows of each kind"""
_POINTS = 400
_COSTS = ("seconds", "images_per_second", "peak_memory")  # in the table of costs
_MOST_CURVES = 12


def curve(results: Results, top: float) -> dict[str, Any]:
    """CA(r) with its pointwise band at 0, step, 2 · step, … to just beyond the largest radius of its panel."""
    step = next((s for s in (0.005, 0.01, 0.02, 0.05, 0.1) if top / s < _POINTS), max(top, 1.0) / _POINTS)
    radii = step * np.arange(math.floor(top / step) + 2, dtype=np.float64)
    accuracy = certified_accuracy(results, radii)
    low, high = wilson(accuracy, len(results))
    try:
        found = distribution(results)
        p_a = {"correct": _short(found.correct), "wrong": _short(found.wrong), "abstained": found.abstained}
    except InputError:  # a TSV log whose name does not tell its σ
        p_a = None
    return {
        "step": step,
        "accuracy": _short(accuracy),
        "low": _short(low),
        "high": _short(high),
        "pA": p_a,
        "edges": _short(EDGES),
    }


def gallery(results: Results) -> dict[str, list[int]]:
    """Positions of the images to look at: the surest and the least sure, what it would not say, what it got wrong."""
    said = results.predict != ABSTAIN
    right, wrong = np.flatnonzero(said & results.correct), np.flatnonzero(said & ~results.correct)
    rising = right[np.argsort(results.radius[right], kind="stable")]
    worst = wrong[np.argsort(-results.radius[wrong], kind="stable")]
    chosen = {
        "largest": rising[::-1][:PER_KIND],
        "smallest": rising[:PER_KIND],
        "abstained": np.flatnonzero(~said)[:PER_KIND],
        "wrong": worst[:PER_KIND],
    }
    return {kind: [int(i) for i in found] for kind, found in chosen.items()}


def embedded_rows(results: Results, most: int) -> dict[str, Any]:
    """The log's rows, all or an even sample of them, always with those of the gallery; `line` is the log's line."""
    shown = gallery(results)
    chosen = np.arange(len(results))
    if len(chosen) > most:
        even = np.linspace(0, len(results) - 1, most).astype(np.int64)
        chosen = np.union1d(even, [i for found in shown.values() for i in found]).astype(np.int64)
    place = {int(i): at for at, i in enumerate(chosen)}
    return {
        "rows": {
            "line": (chosen + 2).tolist(),
            "index": results.index[chosen].tolist(),
            "label": results.label[chosen].tolist(),
            "predict": results.predict[chosen].tolist(),
            # Towards zero: a radius must not grow by being shown.
            "radius": (np.floor(results.radius[chosen] * 1e6) / 1e6).tolist(),
            "correct": results.correct[chosen].astype(int).tolist(),
            "votes": [_votes(results, int(i)) for i in chosen] if results.estimation is not None else None,
        },
        "gallery": {kind: [place[i] for i in found] for kind, found in shown.items()},
    }


def about_training(rows: Sequence[Mapping[str, Any]], hyperparameters: int | None) -> dict[str, Any] | None:
    """Curves by epoch, and what they cost; None without a training log."""
    if not rows:
        return None
    named = [k for k in rows[0] if k != "epoch" and not k.startswith(_COSTS)]
    names = [k for k in named if all(_number(row.get(k)) for row in rows)][:_MOST_CURVES]
    memory = [row[k] for row in rows for k in ("peak_memory_device", "peak_memory_process") if _number(row.get(k))]
    speed = [row["images_per_second"] for row in rows if _number(row.get("images_per_second"))]
    return {
        "epochs": len(rows),
        "seconds": sum(row["seconds"] for row in rows if _number(row.get("seconds"))),
        "speed": sum(speed) / len(speed) if speed else None,
        "memory": max(memory) if memory else None,
        "hyperparameters": hyperparameters,
        "curves": {
            "epoch": [row.get("epoch", i) for i, row in enumerate(rows, 1)],
            "values": {name: [float(f"{row[name]:.5g}") for row in rows] for name in names},
        },
    }


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300  # false for NaN


def _votes(results: Results, i: int) -> list[list[Any]]:
    """[class, votes] of the three classes with most estimation votes, then [None, all votes]."""
    votes = results.estimation[i] if results.estimation is not None else {}
    most = sorted(votes.items(), key=lambda item: -item[1])[:3]
    return [*([label, count] for label, count in most), [None, sum(votes.values())]]


def _short(values: NDArray[np.float64]) -> list[float]:
    return [round(float(v), 5) for v in values]
