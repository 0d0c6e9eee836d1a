"""Leaderboards as tables: three narrow ones for the terminal, a wide one in Markdown."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from typing import Any

from smoothcert.analysis.leaderboard import Board, Place
from smoothcert.analysis.tables import radius_name

Table = tuple[list[str], list[list[str]]]
_P_A = ("none", "½–.9", ".9–.99", ".99–.999", "≥ .999")
_REDUCED = " *"


def title(board: Board) -> str:
    bound = "" if board.bound == "single" else f", {board.bound} bound"
    images = {place.images for place in board.places}
    words = f"the same {max(images):,} images" if board.common else "each on its own images"
    return f"{board.data}, {board.noise}{bound}: n = {board.n:,}, α = {board.alpha:g}, {words}"


def blocks(board: Board) -> list[Table]:
    """What was reached and what it cost; certified accuracy by radius; images by p̂_A. Rows are told by their number."""
    numbered = [*enumerate(board.places, 1)]
    radii = list(board.places[0].certified_accuracy)
    return [
        (["#", "log", *_REACHED], [[str(i), _name(p), *_reached(p)] for i, p in numbered]),
        (["CA %", *map(radius_name, radii)], [[str(i), *_accuracy(p)] for i, p in numbered]),
        (["p_A %", *_P_A], [[str(i), *_p_a(p)] for i, p in numbered]),
    ]


def footnotes(board: Board) -> list[str]:
    """What a reader must know before believing the order."""
    reduced = [f"* {place.name}: {place.reduced}" for place in board.places if place.reduced]
    return [*reduced, *board.notes]


def markdown(board: Board) -> str:
    """One table, as for results/README.md; its footnotes below as a list."""
    radii = list(board.places[0].certified_accuracy)
    header = ["log", *_REACHED, *(f"CA {radius_name(r)}" for r in radii), *(f"p_A {words}" for words in _P_A)]
    rule = ["---", "---", *["---:"] * (len(header) - 2)]
    lines = [[_escaped(_name(p)), *_reached(p), *_accuracy(p), *_p_a(p)] for p in board.places]
    table = "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *lines))
    notes = "".join(f"- {_escaped(note)}\n" for note in footnotes(board))
    return f"{table}\n{notes}" if notes else table


def as_dict(board: Board) -> dict[str, Any]:
    """As JSON has it: shares from 0 to 1, full precision, radii and intervals of p̂_A by name."""
    entry = asdict(board)
    for place, said in zip(board.places, entry["places"], strict=True):
        said["certified_accuracy"] = {f"{r:g}": share for r, share in place.certified_accuracy.items()}
        said["p_a"] = dict(zip(_P_A, place.p_a, strict=True))
    return entry


_REACHED = ("from", "ACR", "± s.e.", "− first", "images", "passes", "minutes", "f/vote")


def _reached(place: Place) -> list[str]:
    return [
        place.origin,
        "–" if place.acr is None else f"{place.acr:.3f}",
        _or_dash(place.standard_error, ".3f"),
        "–" if place.difference is None else f"{place.difference:+.3f} ± {place.difference_standard_error:.3f}",
        f"{place.images:,}",
        _or_dash(place.passes, ",.0f"),
        _or_dash(place.minutes, ",.0f"),
        str(place.passes_per_vote),
    ]


def _escaped(text: str) -> str:
    """With nothing that Markdown would take for a mark of its own."""
    return re.sub(r"([*_|`<\\])", r"\\\1", text)


def _name(place: Place) -> str:
    return place.name + _REDUCED * (place.reduced is not None)


def _accuracy(place: Place) -> list[str]:
    return ["–" if share is None else f"{100 * share:.1f}" for share in place.certified_accuracy.values()]


def _p_a(place: Place) -> list[str]:
    return [f"{100 * share:.1f}" for share in place.p_a]


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None or math.isnan(value) else format(value, form)
