"""Summaries as tables: Markdown, CSV, LaTeX, JSON, and plain cells for the terminal."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from smoothcert.analysis.metrics import Summary
from smoothcert.recipes import to_dict

Rows = list[list[str]]
_TEX = str.maketrans(
    {"\\": r"\textbackslash ", "–": "--"}
    | {sign: f"\\{sign}" for sign in "&%_#$"}
    | dict(zip("αλησ±", (rf"$\{word}$" for word in ("alpha", "lambda", "eta", "sigma", "pm")), strict=True))
)


def cells(summaries: Sequence[Summary]) -> tuple[list[str], Rows]:
    """Header and rows: accuracies in percent, means rounded to nearest, radii and lower bounds down."""
    radii = list(summaries[0].certified_accuracy)
    header = ["name", "ACR", "± s.e.", "images", "abstained", "n", "α", "max r", *(radius_name(r) for r in radii)]
    rows = [line for s in summaries for line in (_row(s), *_assured_rows(s))]
    return header, rows


def _row(s: Summary) -> list[str]:
    return [
        s.name,
        f"{s.acr:.3f}" if s.acr is not None else "–",
        f"{s.acr_standard_error:.3f}" if math.isfinite(s.acr_standard_error) else "–",
        str(s.images) if s.selected in (None, s.images) else f"{s.images} of {s.selected}",
        f"{100 * s.abstained / s.images:.1f}%",
        f"{s.n:,}" if s.n is not None else "not stated",
        f"{s.alpha:g}" if s.alpha is not None else "not stated",
        floored(s.largest_radius, 2) if s.largest_radius is not None else "–",
        *("" if share is None else f"{100 * share:.1f}" for share in s.certified_accuracy.values()),
    ]


def _assured_rows(s: Summary) -> Rows:
    """Below a log's own row, what is certain of these images and of images like these."""
    if s.assured is None:
        return []
    level = f"{100 * s.assured.confidence:.10g} %"
    return [
        [f"  {of} ≥, {level}", *[""] * 7, *("–" if v is None else floored(100 * v, 1) for v in bounds.values())]
        for of, bounds in (("these images", s.assured.of_these_images), ("population", s.assured.of_the_population))
    ]


def radius_name(radius: float) -> str:
    """Two decimals, or all of them: a column must not claim a larger radius than it was computed at.

    >>> radius_name(0.5), radius_name(0.255)
    ('0.50', '0.255')
    """
    return f"{radius:.2f}" if float(f"{radius:.2f}") == radius else repr(float(radius))


def floored(value: float, digits: int) -> str:
    """Decimal digits rounded towards zero: a radius must not grow by being printed.

    >>> floored(0.9529, 3), floored(0.3, 1)
    ('0.952', '0.3')
    """
    scale = 10**digits
    nearest = round(value * scale)
    # 0.3 · 10 is 2.9999…: within rounding of a whole number it is that number
    whole = nearest if abs(value * scale - nearest) < 1e-9 else math.floor(value * scale)
    return f"{whole / scale:.{digits}f}"


def markdown(summaries: Sequence[Summary]) -> str:
    header, rows = cells(summaries)
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join("| " + " | ".join(c.replace("|", "\\|") for c in line) + " |\n" for line in lines)


def comma_separated(summaries: Sequence[Summary]) -> str:
    """For scripts: fractions and full precision, no rounding."""
    radii = list(summaries[0].certified_accuracy)
    keys = [field.name for field in fields(Summary) if field.name not in ("certified_accuracy", "noise", "assured")]
    bounds = [f"{of} >= at {radius_name(r)}" for of in ("these images", "population") for r in radii]
    assured = any(s.assured for s in summaries)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*keys, *(radius_name(r) for r in radii), *(bounds if assured else [])])
    for s in summaries:
        lower = [*s.assured.of_these_images.values(), *s.assured.of_the_population.values()] if s.assured else []
        writer.writerow([*(getattr(s, k) for k in keys), *s.certified_accuracy.values(), *lower])
    return out.getvalue()


def latex(summaries: Sequence[Summary]) -> str:
    header, rows = cells(summaries)
    lines = [" & ".join(cell.translate(_TEX) for cell in line) + r" \\" for line in [header, *rows]]
    body = "\n".join([lines[0], r"\midrule", *lines[1:]])
    columns = "l" + "r" * (len(header) - 1)
    return f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"


def as_json(summaries: Sequence[Summary]) -> str:
    """A list of objects; an unknown number is null."""
    return json.dumps([as_dict(s) for s in summaries], indent=2) + "\n"


def as_dict(s: Summary) -> dict[str, Any]:
    """As JSON has it; a radius is written as the shortest decimal that names it."""
    entry = asdict(s) | {"noise": None if s.noise is None else to_dict(s.noise)}
    entry["certified_accuracy"] = _by_name(s.certified_accuracy)
    if s.assured is None:
        del entry["assured"]
    else:
        entry["assured"]["of_these_images"] = _by_name(s.assured.of_these_images)
        entry["assured"]["of_the_population"] = _by_name(s.assured.of_the_population)
    if not math.isfinite(s.acr_standard_error):
        entry["acr_standard_error"] = None
    return entry


def _by_name(shares: Mapping[float, float | None]) -> dict[str, float | None]:
    return {f"{r:g}" if float(f"{r:g}") == r else repr(r): share for r, share in shares.items()}


FORMATS: dict[str, Callable[[Sequence[Summary]], str]] = {
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
    "json": as_json,
}
