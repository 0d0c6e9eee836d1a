"""One self-contained page about runs and logs: no network, no other file, nothing from a log taken for markup."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from smoothcert import __version__
from smoothcert.analysis.beside_paper import BesidePaper
from smoothcert.analysis.compare import Comparison, compare
from smoothcert.analysis.metrics import default_radii
from smoothcert.analysis.names import told_apart
from smoothcert.analysis.results import Results
from smoothcert.analysis.tables import floored
from smoothcert.errors import InputError
from smoothcert.report.claim import CONFIDENCE, claim_of
from smoothcert.report.data import curve, embedded_rows
from smoothcert.report.drawn import curves_of, p_a_of, panels_of, training_of
from smoothcert.report.entry import Entry
from smoothcert.report.glossary import GLOSSARY
from smoothcert.report.shown import Shown, shown_of

MOST_ROWS = 20_000
"""rows embedded in one page, all logs together: about a megabyte, which a phone opens without a pause"""


def render(
    entries: Sequence[Entry],
    title: str = "smoothcert report",
    radius: float | None = None,
    confidence: float = CONFIDENCE,
) -> str:
    """The page as HTML; radius and confidence of the sentences at its head (see `claim_of`)."""
    import jinja2

    if not entries:
        raise InputError("name at least one run folder or log")
    folder = resources.files("smoothcert.report") / "html"
    style, script, page = ((folder / f"report.{kind}").read_text("utf-8") for kind in ("css", "js", "html"))
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {
        "floored": floored,
        "percent": lambda share: "–" if share is None else f"{100 * share:.1f}",
        "at_least": lambda share: f"{floored(100 * share, 1)} %",
        "short_radius": lambda r: floored(r, 6).rstrip("0").rstrip("."),
        "signed": _signed,
        "breakable": _breakable,
        "distinct": _distinct,
    }
    names = told_apart([e.results for e in entries])
    entries = [replace(e, results=results) for e, results in zip(entries, names, strict=True)]
    radii = sorted({0.0, *default_radii([e.results for e in entries])})
    most = MOST_ROWS // len(entries)
    shown = [
        shown_of(number, e, radii, most, claim_of(e.results, radius, confidence)) for number, e in enumerate(entries, 1)
    ]
    panels = panels_of([e.results for e in entries])
    payload = _payload(entries, shown, panels)
    return environment.from_string(page).render(
        title=title,
        logs=shown,
        radii=radii,
        panels=[panel | {"svg": curves_of(panel, shown)} for panel in panels],
        p_a=p_a_of(payload["logs"]),
        training=training_of(shown),
        glossary=GLOSSARY,
        version=__version__,
        paired=_paired([e.results for e in entries]),
        style=_Safe(style),
        script=_Safe(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=_Safe(_json(payload)),
    )


class _Safe(str):
    """Text of ours that goes into the page as it is; nothing that comes from a log may be one, save through `_json`."""

    def __html__(self) -> str:
        return str(self)


def _breakable(name: str) -> _Safe:
    """The escaped name, which may be broken after an underscore: names of logs are long words."""
    import markupsafe

    return _Safe(markupsafe.escape(name).replace("_", _Safe("_<wbr>")))


def _signed(value: float, digits: int) -> str:
    """+0.1, −0.1, and 0.0 without a sign."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def _distinct(found: Sequence[BesidePaper]) -> list[dict[str, Any]]:
    """The paper repeats some rows in several tables: shown once, with the other places named."""
    kept: dict[Any, dict[str, Any]] = {}
    for b in found:
        key = (b.row.acr, b.row.accuracy)
        if key in kept:
            kept[key]["also"].append(f"table {b.row.table}")
        else:
            kept[key] = {"row": b.row, "cells": b.cells, "verdict": b.verdict, "also": []}
    return list(kept.values())


def _json(value: Any) -> str:
    """JSON that no HTML parser can see the end of a script in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _paired(everything: Sequence[Results]) -> list[tuple[int, Comparison]]:
    """Each log, by its number on the page, against the first, where they are of the same images."""
    found = []
    for number, other in enumerate(everything[1:], 2):
        try:
            found.append((number, compare(other, everything[0], radii=[])))
        except InputError:
            continue
    return found


def _payload(entries: Sequence[Entry], shown: Sequence[Shown], panels: Sequence[dict[str, Any]]) -> dict[str, Any]:
    pictures: dict[str, str] = {}
    logs = []
    for e, s in zip(entries, shown, strict=True):
        for index, png in e.pictures.items():
            pictures[f"{s.number}/{index}"] = "data:image/png;base64," + base64.b64encode(png).decode()
        together = next(panel["logs"] for panel in panels if s.number in panel["logs"])
        top = max(float(shown[number - 1].results.radius.max()) for number in together)
        logs.append(
            {
                "number": s.number,
                "name": e.results.name,
                "images": len(e.results),
                "n": s.summary.n,
                "alpha": s.summary.alpha,
                "mark": " ".join(["reduced"] * bool(s.reduced) + ["incomplete"] * bool(s.missing)),
                **curve(e.results, top),
                **embedded_rows(e.results, s.rows),
                "training": s.training and s.training["curves"],
            }
        )
    return {"logs": logs, "pictures": pictures, "panels": panels}
