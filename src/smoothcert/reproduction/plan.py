"""What there is to do, and how much of it is done already, read from the run folders."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from smoothcert import recipes
from smoothcert.attacks import PGD
from smoothcert.errors import InputError
from smoothcert.files.shown import differences
from smoothcert.noise import Noise, same_law
from smoothcert.paper import TABLES, Row, attack_settings, costs, rows
from smoothcert.procedures.fixed import Fixed
from smoothcert.procedures.procedure import Procedure, build
from smoothcert.recipes import Certification, Recipe, real_name, to_dict
from smoothcert.recipes.estimate import TEST_IMAGES, estimate
from smoothcert.recipes.source import with_sources
from smoothcert.records.log import missing
from smoothcert.records.parts import files_of, read_whole, to_read
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.selection import Selection
from smoothcert.records.training_log import read_training_log

# The tables whose rows a figure draws. What figure 3 shows our sources do not say; it is taken to be ImageNet's curves,
# which no other figure has. Figure 1 looks at networks, not at certificates; nor do they name its σ: 0.5 here.
FIGURES = {1: (), 2: (1,), 3: (2,), 4: (8, 9, 10), 5: (6,)}
FIGURE_1 = {
    "Consistency": "mnist/consistency/0.50",
    "SmoothAdv": "mnist/smoothadv/0.50",
    "MACER": "mnist/macer/0.50",
    "Stability": "mnist/stability/0.50",
    "Gaussian": "mnist/gaussian/0.50",
}
FIGURE_1_PANELS = (("Consistency", "SmoothAdv", "MACER"), ("Consistency", "Stability"), ("Consistency", "Gaussian"))
_ABLATION_SIGMA = 1.0  # of figure 4: table 9 has other σ, too


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure of the paper."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}{self.number}"


@dataclass(frozen=True)
class Item:
    """One recipe, and the printed rows it is compared with."""

    name: str
    rows: tuple[Row, ...]
    certified: bool = True
    """whether its certificates are wanted, or the trained network alone"""


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

    def finished_log(self) -> Path | None:
        """The log with every certificate that is asked for, perhaps packed; the weights may be gone.

        The seed of its noise may be any, and it may be drawn exactly: what is certified is the same model. The run that
        the recipe starts from may be of any seed. CERTIFY may have skipped wrong images: its numbers are the same.
        """
        run = RunFolder(self.folder)
        log = to_read(run.certification_log)
        if not self.item.certified or not files_of(log):
            return None
        from smoothcert.data import splits

        found = read_whole(log)
        header = found.header
        trained = self.recipe.objective.noise
        exact = trained is not None and same_law(header.noise, trained)
        departs = header.departures().keys() - ({"noise"} if exact else set())
        own = self._is_of(header.recipe) and not departs and header.data is not None
        asked = (
            procedure_for(self.recipe, self.certification, header.noise),
            Selection(self.certification.every),
            splits(self.recipe.held_out)[1],
        )
        how = header.procedure
        how = replace(how, label_aware=False) if isinstance(how, Fixed) else how
        here = (how, header.selection, header.data and header.data.split)
        same = own and here == asked and run.recipe.exists() and self._is_of(run.read_recipe())
        return log if same and not missing(found) else None

    def refuse_another(self) -> None:
        """InputError where the folder holds a run of another recipe; a new folder is the training's to claim."""
        run = RunFolder(self.folder)
        if run.recipe.exists() and not self._is_of(found := run.read_recipe()):
            said = differences(to_dict(found), to_dict(self.recipe))
            raise InputError(f"{self.folder}: holds a run of another recipe ({said}): choose another --out")

    def _is_of(self, found: Recipe | None) -> bool:
        """Whether this is the recipe, but for the weights that it leaves open."""
        if found is not None and self.recipe.starts_from is not None:
            found = replace(found, init=None)
        return found == self.recipe

    def progress(self) -> Progress:
        """From the files alone: nothing is loaded that takes time."""
        run = RunFolder(self.folder)
        trained = run.model.exists() or self.finished_log() is not None
        epochs = len(read_training_log(run.training_log)) if run.training_log.exists() else 0
        certified, selected, log = 0, None, to_read(run.certification_log)
        if trained and self.item.certified and files_of(log):
            found = read_whole(log)
            certified, selected = len(found.rows), found.header.selected
        cost = estimate(self.recipe, self.certification)
        left = 0.0 if trained else max(0.0, 1 - epochs / self.recipe.epochs)
        uncertified = 0.0 if not self.item.certified else 1 - certified / selected if selected else 1.0
        hours = (cost.training_hours, left), (cost.certification_hours, uncertified)
        training, certification = (None if full is None else full * share for full, share in hours)
        return Progress(trained, epochs, certified, selected, training, certification)

    def to_dict(self) -> dict[str, Any]:
        """The task and how far it is, as JSON has it."""
        return {
            "recipe": self.item.name,
            "rows": [row.name for row in self.item.rows],
            "folder": str(self.folder),
            "reduced": self.recipe.reduced,
            "seed": self.recipe.seed,
            "certification": asdict(self.certification) if self.item.certified else None,
            **asdict(self.progress()),
        }


def plan(
    what: str,
    out: str | os.PathLike[str] = "runs",
    *,
    seeds: Sequence[int] | None = None,
    settings: Sequence[str] = (),
    scale: float = 1.0,
    every: int | None = None,
    n: int | None = None,
    procedure: Literal["paper", "curve", "adaptive"] | None = None,
) -> list[Task]:
    """What `reproduce` would do with the same arguments; nothing is run, and nothing is written."""
    asked = {"every": every, "n": n, "procedure": procedure}
    chosen_certification: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    usual = range(5) if exhibit(what) == Exhibit("table", 7) else (0,)
    chosen = list(dict.fromkeys(usual if seeds is None else seeds))
    tasks = []
    for item in items(what):
        recipe = recipes.reduced_recipe(recipes.override(recipes.find_recipe(item.name), settings), scale)
        recipe = with_sources(recipe)  # so that a run of code that has changed since is another
        certification = replace(certification_for(recipe, scale), **chosen_certification)
        if chosen_certification:
            Selection(certification.every), procedure_for(recipe, certification)  # refused here if they cannot be
        for seed in chosen:
            folder = Path(out) / run_name(item.name, seed, settings, scale)
            tasks.append(Task(item, replace(recipe, seed=seed), certification, folder))
    return tasks


def attack_settings_beside_paper() -> list[dict[str, Any]]:
    """Table 5, of each recipe: steps, ε in 1/256 and m, ours and the paper's, and whether they are equal."""
    found: list[dict[str, Any]] = []
    for printed in attack_settings():
        paper = {"steps": printed.steps, "epsilon": printed.epsilon, "m": printed.m}
        for name in printed.recipes:
            objective = recipes.find_recipe(name).objective
            assert isinstance(objective.attack, PGD)
            ours = {"steps": objective.attack.steps, "epsilon": 256 * objective.attack.epsilon, "m": objective.m}
            found.append({"recipe": name, "ours": ours, "paper": paper, "equal": ours == paper})
    return found


def certification_for(recipe: Recipe, scale: float) -> Certification:
    """As the paper certifies on this data set, or a fraction of it."""
    return recipes.reduced_certification(
        recipes.certification_of(recipe.data), scale, TEST_IMAGES.get(recipe.data, 10_000)
    )


def procedure_for(recipe: Recipe, certification: Certification, noise: Noise | None = None) -> Procedure:
    """Under the noise it was trained with, unless another is given."""
    c, noise = certification, noise or recipe.objective.noise
    if noise is None:
        raise InputError("the recipe has no noise to certify with: `smoothcert train` trains it")
    return build(c.procedure, noise, c.n0, c.n, c.alpha)


def run_name(recipe: str, seed: int, settings: Sequence[str] = (), scale: float = 1.0) -> str:
    """mnist/gaussian/0.50 → mnist-gaussian-0.50-seed0; a variant says so, because tables show runs by this name."""
    changed = "".join(f"+{setting}" for setting in settings)
    if len(changed) > 80:
        changed = f"+changed-{hashlib.sha256(changed.encode()).hexdigest()[:8]}"
    changed = re.sub(r"[^\w.+=-]", "_", changed)
    reduced = f"-reduced{scale:g}" if scale != 1 else ""
    return f"{recipe.replace('/', '-')}{changed}{reduced}-seed{seed}"


def exhibit(what: str) -> Exhibit | None:
    """ "6" or "table6", "figure5" or "fig. 5"; None for the name of a recipe or a pattern."""
    found = re.fullmatch(r"(table|tab|figure|fig)?[ _.-]*(\d{1,2})", what.lower())
    if not found:
        return None
    kind, number = "figure" if (found[1] or "").startswith("fig") else "table", int(found[2])
    known = FIGURES if kind == "figure" else TABLES
    if number not in known:
        raise InputError(f"the paper has no {kind} {number}: it has {kind}s {min(known)} to {max(known)}")
    return Exhibit(kind, number)


def items(what: str) -> tuple[Item, ...]:
    """A table, a figure, the name of a recipe, a glob or a part of names → recipes, each once.

    A table compares with its own rows alone, a pattern with all rows that its recipes stand for; recipes of our own,
    which stand for none, are meant only where nothing else is. Table 5 prints settings: there is nothing to run.
    """
    wanted = exhibit(what)
    if wanted is None:
        names = dict.fromkeys(map(real_name, recipes.matching(what)))
        matched = [Item(name, recipes.printed_rows(name), _can_be_certified(name)) for name in names]
        return tuple(item for item in matched if item.rows) or tuple(matched)
    if wanted == Exhibit("figure", 1):
        return tuple(Item(name, (), certified=False) for name in FIGURE_1.values())
    if wanted == Exhibit("table", 3):
        return tuple(Item(real_name(cost.recipe), ()) for cost in costs())
    return _merged(rows_of(wanted))


def _can_be_certified(name: str) -> bool:
    """A denoiser is no classifier, and one that saw no noise does not say with which."""
    objective = recipes.find_recipe(name).objective
    return objective.task == "classify" and objective.noise is not None


def rows_of(wanted: Exhibit) -> list[Row]:
    """The printed rows of certified accuracies that it shows."""
    tables = FIGURES[wanted.number] if wanted.kind == "figure" else (wanted.number,)
    shown = [row for number in tables if number not in (3, 5) for row in rows(number)]
    return [row for row in shown if row.sigma == _ABLATION_SIGMA] if wanted == Exhibit("figure", 4) else shown


def _merged(found: list[Row]) -> tuple[Item, ...]:
    merged: dict[str, Item] = {}
    for row in found:
        for name in map(real_name, row.recipes):
            before = merged.get(name, Item(name, ()))
            merged[name] = replace(before, rows=(*before.rows, row))
    return tuple(merged.values())
