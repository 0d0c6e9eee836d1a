"""What `smoothcert reproduce` shows: the plan, and our numbers beside the paper's."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from smoothcert.cli.display import print_table
from smoothcert.cli.recipes import hours

if TYPE_CHECKING:
    from smoothcert.analysis import Results
    from smoothcert.reproduction import Item, RowVerdict, Task


def print_plan(tasks: list[Task], as_json: bool) -> None:
    """One line per run: what is done, what is to do, and the hours left by the estimate of `recipes.cost`."""
    from smoothcert.recipes.cost import MACHINE

    plan = [(task, task.progress()) for task in tasks]
    if not plan and not as_json:
        print("nothing to train or certify: the table prints settings, which our recipes have")
        return
    if as_json:
        listed = [
            {
                "recipe": t.item.name,
                "rows": [row.name for row in t.item.rows],
                "folder": str(t.folder),
                "reduced": t.recipe.reduced,
            }
            | {"seed": t.recipe.seed, "certification": asdict(t.certification) if t.item.certified else None}
            | asdict(p)
            for t, p in plan
        ]
        print(json.dumps(listed, indent=2))
        return
    header = ["run", "paper's rows", "train", "certify", "train h", "certify h"]
    lines = []
    for task, p in plan:
        train = "done" if p.trained else f"{p.epochs} of {task.recipe.epochs} epochs done"
        done = p.selected is not None and p.certified >= p.selected
        certify = "done" if done else f"n = {task.certification.n:,}, every {task.certification.every}"
        certify = certify if task.item.certified else "not needed"
        if p.certified and not done:
            certify = f"{p.certified} of {p.selected} images done"
        rows = " ".join(row.name for row in task.item.rows) or "none"
        lines.append([str(task.folder), rows, train, certify, hours(p.training_hours), hours(p.certification_hours)])
    print_table(header, lines)
    estimates = [hour for _, p in plan for hour in (p.training_hours, p.certification_hours)]
    known = [hour for hour in estimates if hour is not None]
    left = f"about {hours(sum(known))} h" if len(known) == len(estimates) else f"at least {hours(sum(known))} h"
    reduced = next((t.recipe.reduced for t, _ in plan if t.recipe.reduced), None)
    mark = f"; reduced run, {reduced.partition(':')[0]}" if reduced else ""
    print(f"\n{len(plan)} runs, {left} left on {MACHINE} (an estimate){mark}")


def print_attack_settings(as_json: bool) -> None:
    """Table 5: the printed settings of SmoothAdv beside those of our recipes, ε in 1/256."""
    from smoothcert.attacks import PGD
    from smoothcert.paper import attack_settings
    from smoothcert.recipes import find

    lines: list[dict[str, Any]] = []
    for printed in attack_settings():
        for name in printed.recipes:
            objective = find(name).objective
            assert isinstance(objective.attack, PGD)
            ours = {"steps": objective.attack.steps, "epsilon": 256 * objective.attack.epsilon, "m": objective.m}
            paper = {"steps": printed.steps, "epsilon": printed.epsilon, "m": printed.m}
            lines.append({"recipe": name, "ours": ours, "paper": paper, "equal": ours == paper})
    if as_json:
        print(json.dumps(lines, indent=2))
        return
    header = ["recipe", "T", "paper", "256 ε", "paper", "m", "paper"]
    keys = ("steps", "epsilon", "m")
    print_table(
        header, [[x["recipe"], *(f"{x[who][key]:g}" for key in keys for who in ("ours", "paper"))] for x in lines]
    )
    print("\nall equal" if all(line["equal"] for line in lines) else "\nnot all equal")


def print_verdicts(
    verdicts: list[tuple[Item, RowVerdict]],
    results: dict[Item, dict[int, Results]],
    skipped: dict[str, str],
    as_json: bool,
) -> None:
    unprinted = {item: by_seed for item, by_seed in results.items() if by_seed and not item.rows}
    if as_json:
        rows = [_as_dict(item, verdict) for item, verdict in verdicts]
        ours = [s for item, by_seed in unprinted.items() for s in _unprinted(item, by_seed)]
        print(json.dumps({"rows": rows, "unprinted": ours, "skipped": skipped}, indent=2, ensure_ascii=False))
        return
    for item, verdict in verdicts:
        print()
        _print_row(item, verdict)
    for item, by_seed in unprinted.items():
        for s in _unprinted(item, by_seed):
            mark = f" (reduced run: {'; '.join(s['reductions'])})" if s["reductions"] else ""
            error = "–" if s["standard_error"] is None else f"{s['standard_error']:.3f}"
            print(f"\n{item.name}, seed {s['seed']}, in no table of the paper: ACR {s['acr']:.3f} ± {error}{mark}")
    counts = Counter(found.verdict.word for _, found in verdicts)
    counts["skipped"] = len(skipped)
    print(f"\n{len(verdicts)} rows: " + ", ".join(f"{n} {word}" for word, n in counts.items() if n))


def _print_row(item: Item, verdict: RowVerdict) -> None:
    row, first = verdict.row, verdict.cells[0]
    fewer = any("test images" in words for words in verdict.reductions)
    seeds = ", ".join(map(str, verdict.seeds))
    notes = [*verdict.reductions, *(f"changed {setting}" for setting in verdict.changed)]
    less = f" ({'; '.join(notes)})" if notes else ""
    print(f"{row.title} [{row.name}]  {item.name}, seed {seeds}: {verdict.verdict.word}{less}")
    print(_difference(verdict))
    header = ["", *("ACR" if c.radius is None else f"{c.radius:.2f}" for c in verdict.cells)]
    digits = [(4 if row.acr_sd is not None else 3) if c.radius is None else 1 for c in verdict.cells]

    def line(title: str, values: list[float], sign: str = "") -> list[str]:
        return [title, *(f"{v:{sign}.{d}f}" if math.isfinite(v) else "–" for v, d in zip(values, digits, strict=True))]

    lines = [
        line("ours, reduced" if verdict.reductions else "ours", [c.ours for c in verdict.cells]),
        line("± s.e., images", [c.standard_error for c in verdict.cells]),
    ]
    if first.deviation is not None:
        lines.append(line("± s.d., seeds", [c.deviation or 0.0 for c in verdict.cells]))
    lines += [
        line(f"paper{', all images' * fewer}", [c.paper for c in verdict.cells]),
        line(f"gap{' to all images' * fewer}", [c.gap for c in verdict.cells], "+"),
    ]
    print_table(header, lines)


def _difference(found: RowVerdict) -> str:
    """ACR − theirs with its interval, in percent of the printed ACR too: what the verdict rests on."""
    v = found.verdict
    against = f"the authors' {v.theirs:.4f} on the same images" if v.paired else f"the printed {v.theirs:.4f}"
    low, high = v.interval
    percent = [100 * value / found.row.acr for value in (v.difference, low, high)]
    share = "{:+.2f} % [{:+.2f}, {:+.2f}]".format(*percent)
    return f"ACR minus {against}: {v.difference:+.4f} [{low:+.4f}, {high:+.4f}], {share}; {v.images:,} images"


def _unprinted(item: Item, by_seed: dict[int, Results]) -> list[dict[str, Any]]:
    from smoothcert.analysis import summarize
    from smoothcert.analysis.reduction import reductions

    return [
        {"recipe": item.name, "seed": seed, "acr": (s := summarize(results, [])).acr}
        | {"standard_error": _finite(s.acr_standard_error), "reductions": reductions(results)}
        for seed, results in by_seed.items()
    ]


def _as_dict(item: Item, verdict: RowVerdict) -> dict[str, Any]:
    return {
        "recipe": item.name,
        "row": verdict.row.name,
        "title": verdict.row.title,
        "seeds": verdict.seeds,
        "verdict": verdict.verdict.word,
        "difference": _finite(asdict(verdict.verdict)),
        "reductions": verdict.reductions,
        "changed": verdict.changed,
        "cells": [_finite(asdict(cell)) for cell in verdict.cells],
    }


def _finite(value: Any) -> Any:
    """JSON knows no NaN and no infinity: null."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
