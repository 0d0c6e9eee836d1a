"""Which charts a page has: their SVG, and the numbers of the logs in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import by_panel
from smoothcert.report import chart
from smoothcert.report.plain_name import plain_name
from smoothcert.report.shown import Shown

if TYPE_CHECKING:
    from markupsafe import Markup


def panels_of(everything: Sequence[Results]) -> list[dict[str, Any]]:
    """What the charts of certified accuracy have in common, and the numbers of their logs."""
    return [
        {
            "title": plain_name(", ".join(words)),
            "norm": everything[found[0]].header.norm,
            "logs": [place + 1 for place in found],
        }
        for words, found in by_panel(everything).items()
    ]


def curves_of(panel: dict[str, Any], shown: Sequence[Shown]) -> Markup:
    return chart.curves({number: shown[number - 1].results for number in panel["logs"]}, panel["norm"])


def p_a_of(logs: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The chart of p_A and the numbers of the logs in it; None where no log tells its σ."""
    known = {log["number"]: log["pA"] for log in logs if log["pA"]}
    if not known:
        return None
    bins = [i + 1 for p_a in known.values() for i, c in enumerate(p_a["correct"]) if c + p_a["wrong"][i] > 0]
    return {"svg": chart.p_a(known, max([2, *bins])), "logs": list(known)}


def training_of(shown: Sequence[Shown]) -> list[dict[str, Any]]:
    """A chart for each number that any training log has."""
    curves = {s.number: s.training["curves"] for s in shown if s.training}
    found = []
    for name in dict.fromkeys(name for one in curves.values() for name in one["values"]):
        lines = {n: (one["epoch"], one["values"][name]) for n, one in curves.items() if name in one["values"]}
        words = name.replace("_", " ")
        svg = chart.by_epoch(lines, f"{words} by epoch")
        found.append({"name": name, "title": words, "svg": svg, "logs": list(lines)})
    return found
