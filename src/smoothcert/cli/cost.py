"""smoothcert cost"""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Cost:
    """What trainings cost: hyperparameters, ACR where certified, peak memory, time an epoch by phase."""

    runs: Positional[tuple[Path, ...]]
    """run folders"""
    json: bool = False
    """a list of objects instead of a table"""

    def __call__(self) -> None:
        from smoothcert.cli.display import print_table

        if not self.runs:
            raise InputError("name at least one run folder")
        entries = [_entry(run) for run in self.runs]
        if self.json:
            print(jsonlib.dumps(entries, indent=2))
            return
        header = ["run", "hyperparameters", "ACR", "± s.e.", "images", "n", "α", "peak memory", "s/epoch"]
        header += ["attack", "descent", "data", "epochs"]
        print_table(header, [_cells(entry) for entry in entries])


def _entry(run: Path) -> dict[str, Any]:
    from smoothcert.analysis import read_results, summarize
    from smoothcert.analysis.cost import cost
    from smoothcert.certification.parts import files_of, to_read
    from smoothcert.recipes import from_dict
    from smoothcert.run_folder import RunFolder
    from smoothcert.training.log import read_training_log

    folder = RunFolder(run)
    recipe = from_dict(folder.read_recipe())
    rows = read_training_log(folder.training_log)
    if not rows:
        raise InputError(f"{run}: has finished no epoch yet")
    entry = {"name": run.resolve().name, "hyperparameters": recipe.num_hyperparameters, **asdict(cost(rows))}
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
    peak = entry["peak_memory_device"] or entry["peak_memory_process"]
    return [
        entry["name"],
        str(entry["hyperparameters"]),
        cell("acr", ".3f"),
        cell("acr_standard_error", ".3f"),
        cell("images", "d"),
        cell("n", ",d"),
        cell("alpha", "g"),
        "–" if peak is None else f"{peak / 2**20:.0f} MiB",
        cell("epoch_seconds", ".2f"),
        *(f"{phases[phase]:.2f}" for phase in ("attack", "descent", "data")),
        str(entry["epochs"]),
    ]
