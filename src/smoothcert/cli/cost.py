"""smoothcert cost"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from smoothcert.errors import InputError

_COLUMNS = {
    "run": ("name", ""),
    "hyperparameters": ("hyperparameters", ""),
    "ACR": ("acr", ".3f"),
    "± s.e.": ("acr_standard_error", ".3f"),
    "images": ("images", "d"),
    "n": ("n", ",d"),
    "α": ("alpha", "g"),
    "peak memory": ("peak_memory", "GiB"),
    "hours": ("hours", ".2f"),
    "s/epoch": ("epoch_seconds", ".2f"),
    "attack": ("attack", ".2f"),
    "descent": ("descent", ".2f"),
    "data": ("data", ".2f"),
    "epochs": ("epochs", ""),
}


@dataclass(frozen=True)
class Cost:
    """What trainings cost: hyperparameters, ACR where certified, peak memory, hours, time an epoch by phase.

    A run of a method in the paper's table 3 (CIFAR-10, ResNet-110, σ = 0.5) stands beside its printed row.
    """

    runs: Positional[tuple[Path, ...]]
    """run folders"""
    json: bool = False
    """print one JSON document, a list with an object per run"""

    def __call__(self) -> None:
        if not self.runs:
            raise InputError("name at least one run folder")
        print_costs(self.runs, self.json)


def print_costs(runs: Sequence[Path], as_json: bool) -> None:
    """Of each run; then, for those that table 3 has, ours beside the printed ones, hours of the whole schedule."""
    from smoothcert.cli.display import print_json, print_table

    entries = [_entry(run) for run in runs]
    if as_json:
        print_json(entries)
        return
    print_table(list(_COLUMNS), [_cells(entry) for entry in entries])
    printed = [entry for entry in entries if entry["paper"]]
    if not printed:
        return
    print("\nTable 3: ours beside the paper's, which was measured on one TITAN X (Pascal); hours of the whole schedule")
    header = ["method", "hyperparameters", "paper", "ACR", "paper", "memory", "paper", "hours", "paper"]
    print_table(header, [_beside(entry) for entry in printed])
    for entry in printed:
        if entry["reduced"]:
            print(f"{entry['paper']['method']}: reduced ({entry['reduced']}); hours by its median epoch, scaled up")


def _entry(run: Path) -> dict[str, Any]:
    from smoothcert.analysis import read_results, summarize
    from smoothcert.analysis.training_cost import printed_cost, training_cost
    from smoothcert.recipes import find_recipe
    from smoothcert.records.parts import files_of, to_read
    from smoothcert.records.run_folder import RunFolder
    from smoothcert.records.training_log import read_training_log

    folder = RunFolder(run)
    recipe = folder.read_recipe()
    rows = read_training_log(folder.training_log)
    if not rows:
        raise InputError(f"{run}: has finished no epoch yet")
    spent, printed = training_cost(rows), printed_cost(recipe)
    entry = {"name": run.resolve().name, "hyperparameters": recipe.num_hyperparameters, **asdict(spent)}
    entry |= {"hours": spent.hours(recipe), "reduced": recipe.reduced, "peak_memory": spent.peak_memory}
    entry |= {"paper": asdict(printed) if printed else None}
    if printed:
        entry["hours_of_whole_schedule"] = spent.hours(recipe, find_recipe(printed.recipe))
    if files_of(to_read(folder.certification_log)):
        s = summarize(read_results(run), [0.0])
        keys = ("acr", "acr_standard_error", "images", "n", "alpha")
        entry |= {key: getattr(s, key) for key in keys}
    return entry


def _cells(entry: dict[str, Any]) -> list[str]:
    values = entry | entry["by_phase"]
    return [_cell(values, key, form) for key, form in _COLUMNS.values()]


def _beside(entry: dict[str, Any]) -> list[str]:
    paper = entry["paper"]
    acr = _cell(entry, "acr", ".3f") + (" reduced" if entry["reduced"] and "acr" in entry else "")
    return [
        paper["method"],
        _cell(entry, "hyperparameters"),
        _cell(paper, "hyperparameters"),
        acr,
        _cell(paper, "acr", ".3f"),
        _cell(entry, "peak_memory", "GiB"),
        paper["memory"],
        _cell(entry, "hours_of_whole_schedule", ",.1f"),
        _cell(paper, "hours", ".1f"),
    ]


def _cell(values: dict[str, Any], key: str, form: str = "") -> str:
    value = values.get(key)
    if value is None:
        return "–"
    return f"{value / 2**30:.2f} GiB" if form == "GiB" else format(value, form)
