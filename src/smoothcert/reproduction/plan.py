"""What there is to do, and how much of it is done already, read from the run folders."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from smoothcert.certification.parts import files_of, read_whole
from smoothcert.errors import InputError
from smoothcert.paper import TABLES, Row, rows
from smoothcert.recipes import Certification, Recipe, matching, printed_rows, real_name
from smoothcert.recipes.cost import estimate
from smoothcert.run_folder import RunFolder

# The tables whose rows a figure draws. Figure 1 looks at one test image under the methods of table 1 at one σ, which
# our sources do not name: 0.5 here.
FIGURES = {1: (1,), 2: (1,), 4: (8, 9, 10), 5: (6,)}
_ELSEWHERE = {3: "what training costs: see `smoothcert cost`", 5: "settings of SmoothAdv, not results"}


@dataclass(frozen=True)
class Item:
    """One recipe, and the printed rows it is compared with."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Progress:
    """How far a run is; what is left of it in estimated hours, None where no estimate is known."""

    trained: bool
    epochs: int
    certified: int
    selected: int | None
    training_hours: float | None
    certification_hours: float | None


@dataclass(frozen=True)
class Task:
    """One recipe with one seed in its own folder."""

    item: Item
    recipe: Recipe
    certification: Certification
    folder: Path

    def progress(self) -> Progress:
        """From the files alone: nothing is loaded that takes time."""
        run = RunFolder(self.folder)
        trained = run.model.exists()
        epochs = len(run.training_log.read_text().splitlines()) if run.training_log.exists() else 0
        certified, selected = 0, None
        if trained and files_of(run.certification_log):
            log = read_whole(run.certification_log)
            certified, selected = len(log.rows), log.decides.get("selected")
        cost = estimate(self.recipe, self.certification)
        left = 0.0 if trained else 1 - epochs / self.recipe.epochs
        uncertified = 1 - certified / selected if selected else 1.0
        hours = (cost.training_hours, left), (cost.certification_hours, uncertified)
        training, certification = (None if full is None else full * share for full, share in hours)
        return Progress(trained, epochs, certified, selected, training, certification)


def items(what: str) -> tuple[Item, ...]:
    """ "6" or "table6", "figure5", the name of a recipe, a glob or a part of names → recipes, each once.

    A table compares with its own rows alone, a pattern with all rows that its recipes stand for; recipes of our own,
    which stand for none, are meant only where nothing else is.
    """
    figure = figure_number(what)
    table = re.fullmatch(r"(?:table|tab)?[ _.-]?(\d{1,2})", what.lower())
    if figure is not None:
        if figure not in FIGURES:
            raise InputError(f"figure {figure} draws no results: there are {', '.join(map(str, FIGURES))}")
        found = [link for number in FIGURES[figure] for link in _table(number)]
        return _merged([link for link in found if figure > 1 or link[0].endswith("/0.50")])
    if table:
        return _merged(_table(int(table[1])))
    matched = [Item(name, printed_rows(name)) for name in dict.fromkeys(map(real_name, matching(what)))]
    return tuple(item for item in matched if item.rows) or tuple(matched)


def figure_number(what: str) -> int | None:
    found = re.fullmatch(r"(?:figure|fig)[ _.-]?(\d{1,2})", what.lower())
    return int(found[1]) if found else None


def _table(number: int) -> list[tuple[str, Row]]:
    if number in _ELSEWHERE:
        raise InputError(f"table {number} prints {_ELSEWHERE[number]}")
    if number not in TABLES:
        raise InputError(f"there is no table {number} to reproduce: there are {', '.join(map(str, TABLES))}")
    return [(name, row) for row in rows(number) for name in row.recipes]


def _merged(found: list[tuple[str, Row]]) -> tuple[Item, ...]:
    merged: dict[str, Item] = {}
    for alias, row in found:
        name = real_name(alias)
        before = merged.get(name, Item(name, ()))
        merged[name] = replace(before, rows=(*before.rows, row))
    return tuple(merged.values())
