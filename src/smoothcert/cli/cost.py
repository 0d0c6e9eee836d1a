"""smoothcert cost"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Cost:
    """What trainings cost: hyperparameters, ACR where certified, peak memory, hours, time an epoch by phase.

    A run of a method in the paper's table 3 (CIFAR-10, ResNet-110, σ = 0.5) stands beside its printed row.
    """

    runs: Positional[tuple[Path, ...]]
    """run folders"""
    json: bool = False
    """a list of objects instead of a table"""

    def __call__(self) -> None:
        if not self.runs:
            raise InputError("name at least one run folder")
        print_costs(self.runs, self.json)


def print_costs(runs: Sequence[Path], as_json: bool) -> None:
    """Of each run; then, for those that table 3 has, ours beside the printed ones, hours of the whole schedule."""
    from smoothcert.cli.display import print_table

    entries = [_entry(run) for run in runs]
    if as_json:
        print(jsonlib.dumps(entries, indent=2))
        return
    header = ["run", "hyperparameters", "ACR", "± s.e.", "images", "n", "α", "peak memory", "hours", "s/epoch"]
    header += ["attack", "descent", "data", "epochs"]
    print_table(header, [_cells(entry) for entry in entries])
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
    from smoothcert.analysis.cost import cost, printed_cost
    from smoothcert.certification.parts import files_of, to_read
    from smoothcert.recipes import find, from_dict
    from smoothcert.records.run_folder import RunFolder
    from smoothcert.training.log import read_training_log

    folder = RunFolder(run)
    recipe = from_dict(folder.read_recipe())
    rows = read_training_log(folder.training_log)
    if not rows:
        raise InputError(f"{run}: has finished no epoch yet")
    spent, printed = cost(rows), printed_cost(recipe)
    entry = {"name": run.resolve().name, "hyperparameters": recipe.num_hyperparameters, **asdict(spent)}
    entry |= {"hours": spent.hours(recipe), "reduced": recipe.reduced, "peak_memory": spent.peak_memory}
    entry |= {"paper": asdict(printed) if printed else None}
    if printed:
        entry["hours_of_whole_schedule"] = spent.hours(recipe, find(printed.recipe))
    if files_of(to_read(folder.certification_log)):
        s = summarize(read_results(run), [0.0])
        keys = ("acr", "acr_standard_error", "images", "n", "alpha")
        entry |= {key: getattr(s, key) for key in keys}
    return entry


def _cells(entry: dict[str, Any]) -> list[str]:
    def cell(key: str, form: str) -> str:
        value = entry.get(key)
        return "–" if value is None else format(value, form)

    phases = entry["by_phase"]
    return [
        entry["name"],
        str(entry["hyperparameters"]),
        cell("acr", ".3f"),
        cell("acr_standard_error", ".3f"),
        cell("images", "d"),
        cell("n", ",d"),
        cell("alpha", "g"),
        _memory(entry),
        cell("hours", ".2f"),
        cell("epoch_seconds", ".2f"),
        *(f"{phases[phase]:.2f}" for phase in ("attack", "descent", "data")),
        str(entry["epochs"]),
    ]


def _beside(entry: dict[str, Any]) -> list[str]:
    paper, acr = entry["paper"], entry.get("acr")
    return [
        paper["method"],
        str(entry["hyperparameters"]),
        "–" if paper["hyperparameters"] is None else str(paper["hyperparameters"]),
        "–" if acr is None else f"{acr:.3f}" + (" reduced" if entry["reduced"] else ""),
        f"{paper['acr']:.3f}",
        _memory(entry),
        paper["memory"],
        f"{entry['hours_of_whole_schedule']:,.1f}",
        f"{paper['hours']:.1f}",
    ]


def _memory(entry: dict[str, Any]) -> str:
    peak = entry["peak_memory"]
    return "–" if peak is None else f"{peak / 2**30:.2f} GiB"
