"""Figures 2 to 5 of the paper, from our certifications: steps are ours, circles the printed cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from smoothcert.analysis import Results
from smoothcert.figures.curves import Panel
from smoothcert.paper import Row
from smoothcert.recipes import real_name
from smoothcert.reproduction.plan import Exhibit, rows_of


def panels(figure: int, ours: Mapping[str, Results]) -> list[Panel]:
    """Its panels with the curves of those rows of which `ours` has the recipe; rows of several settings show the first.

    Figure 4 has a panel for each ablation, the others one for each σ.
    """
    shown = [
        (row, ours[name]) for row in rows_of(Exhibit("figure", figure)) if (name := real_name(row.recipes[0])) in ours
    ]
    if figure == 4:
        return _grouped(shown, lambda row: _ABLATIONS[row.table], _varied)
    return _grouped(shown, lambda row: f"σ = {row.sigma:.2f}", lambda row: _plain(row.printed))


_ABLATIONS = {8: "loss", 9: "number of draws m", 10: "weight λ"}


def _grouped(
    shown: Sequence[tuple[Row, Results]], title: Callable[[Row], str], label: Callable[[Row], str]
) -> list[Panel]:
    found: dict[str, list[tuple[Row, Results]]] = {}
    for row, results in shown:
        found.setdefault(title(row), []).append((row, results))
    return [
        Panel(name, tuple((label(row), results) for row, results in group), {label(row): row for row, _ in group})
        for name, group in found.items()
    ]


def _varied(row: Row) -> str:
    """What tells a row of an ablation from its neighbours."""
    if row.table == 8:
        return _plain(row.printed)
    value = row.recipes[0].split("/")[2]
    return f"m = {value}" if row.table == 9 else f"λ = {value}"


def _plain(printed: str) -> str:
    return printed.replace("(lambda=", "(λ = ").replace("Gaussian + Consistency", "Consistency")
