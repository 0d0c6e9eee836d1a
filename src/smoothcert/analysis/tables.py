"""Summaries as tables: Markdown, CSV, LaTeX, JSON, and plain cells for the terminal."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

from smoothcert.analysis.metrics import Summary

Rows = list[list[str]]


def cells(summaries: Sequence[Summary]) -> tuple[list[str], Rows]:
    """Header and rows: accuracies in percent, means rounded to nearest, radii down."""
    radii = list(summaries[0].certified_accuracy)
    header = ["name", "ACR", "± s.e.", "images", "abstained", "n", "α", "max r", *(radius_name(r) for r in radii)]
    rows = [
        [
            s.name,
            f"{s.acr:.3f}" if s.acr is not None else "–",
            f"{s.acr_standard_error:.3f}" if math.isfinite(s.acr_standard_error) else "–",
            str(s.images) if s.selected in (None, s.images) else f"{s.images} of {s.selected}",
            f"{100 * s.abstained / s.images:.1f}%",
            f"{s.n:,}" if s.n is not None else "not stated",
            f"{s.alpha:g}" if s.alpha is not None else "not stated",
            floored(s.largest_radius, 2) if s.largest_radius is not None else "–",
            *("" if (share := s.certified_accuracy[r]) is None else f"{100 * share:.1f}" for r in radii),
        ]
        for s in summaries
    ]
    return header, rows


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
    keys = [
        "name",
        "acr",
        "acr_standard_error",
        "images",
        "selected",
        "abstained",
        "n0",
        "n",
        "alpha",
        "largest_radius",
    ]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*keys, *(radius_name(r) for r in radii)])
    for s in summaries:
        writer.writerow([*(getattr(s, k) for k in keys), *s.certified_accuracy.values()])
    return out.getvalue()


def latex(summaries: Sequence[Summary]) -> str:
    header, rows = cells(summaries)
    lines = [" & ".join(map(_tex, line)) + r" \\" for line in [header, *rows]]
    body = "\n".join([lines[0], r"\midrule", *lines[1:]])
    columns = "l" + "r" * (len(header) - 1)
    return f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"


def _tex(cell: str) -> str:
    for plain, escaped in (
        ("\\", r"\textbackslash "),
        ("&", r"\&"),
        ("%", r"\%"),
        ("_", r"\_"),
        ("#", r"\#"),
        ("$", r"\$"),
    ):
        cell = cell.replace(plain, escaped)
    for sign, word in zip("αλησ±", ("alpha", "lambda", "eta", "sigma", "pm"), strict=True):
        cell = cell.replace(sign, rf"$\{word}$")
    return cell.replace("–", "--")


def as_json(summaries: Sequence[Summary]) -> str:
    """A list of objects; a radius is written as the shortest decimal that names it, an unknown number as null."""
    listed = []
    for s in summaries:
        entry = asdict(s)
        entry["certified_accuracy"] = {
            f"{r:g}" if float(f"{r:g}") == r else repr(r): v for r, v in s.certified_accuracy.items()
        }
        if not math.isfinite(s.acr_standard_error):
            entry["acr_standard_error"] = None
        listed.append(entry)
    return json.dumps(listed, indent=2) + "\n"


FORMATS: dict[str, Callable[[Sequence[Summary]], str]] = {
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
    "json": as_json,
}
