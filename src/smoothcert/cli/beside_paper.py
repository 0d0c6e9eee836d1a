"""What `smoothcert reproduce` shows at its end: our numbers beside the paper's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from smoothcert.cli.display import print_json, print_table

if TYPE_CHECKING:
    from smoothcert.analysis.beside_paper import BesidePaper
    from smoothcert.reproduction.reproduce import Reproduction


def print_attack_settings(as_json: bool) -> None:
    """Table 5: the printed settings of SmoothAdv beside those of our recipes, ε in 1/256."""
    from smoothcert.reproduction.plan import attack_settings_beside_paper

    lines = attack_settings_beside_paper()
    if as_json:
        print_json(lines)
        return
    keys = ("steps", "epsilon", "m")
    rows = [[x["recipe"], *(f"{x[who][key]:g}" for key in keys for who in ("ours", "paper"))] for x in lines]
    print_table(["recipe", "T", "paper", "256 ε", "paper", "m", "paper"], rows)
    print("\nall equal" if all(line["equal"] for line in lines) else "\nnot all equal")


def print_gaps(done: Reproduction, image: int, as_json: bool) -> None:
    """Figure 1: how often each method misclassifies the image under noise."""
    draws = len(next(iter(done.gaps.values())))
    reduced = next((task.recipe.reduced for task in done.tasks if task.recipe.reduced), None)
    wrong = {method: float((gaps < 0).mean()) for method, gaps in done.gaps.items()}
    if as_json:
        about = {"image": image, "draws": draws, "reduced": reduced, "misclassified": wrong}
        print_json(about | {"picture": str(done.picture)})
        return
    title = f"MNIST, test image {image}, {draws:,} draws" + (f"; {reduced}" if reduced else "")
    lines = [
        [method, f"{100 * wrong[method]:.2f}", f"{gaps.mean():.2f}", f"{gaps.std():.2f}"]
        for method, gaps in done.gaps.items()
    ]
    print()
    print_table([title, "misclassified %", "mean gap", "s.d."], lines)
    print(done.picture)


def print_verdicts(done: Reproduction, as_json: bool) -> None:
    """Each printed row with our cells; then runs that no table has, and how many rows got which verdict."""
    if as_json:
        print_json(done.to_dict())
        return
    for item, found in done.verdicts:
        print()
        _print_row(f"{item.name}, seed {', '.join(map(str, done.results[item]))}", found)
    for s in done.unprinted:
        mark = f" (reduced run: {'; '.join(s['reductions'])})" if s["reductions"] else ""
        acr, error = ("–" if s[name] is None else f"{s[name]:.3f}" for name in ("acr", "standard_error"))
        print(f"\n{s['recipe']}, seed {s['seed']}, in no table of the paper: ACR {acr} ± {error}{mark}")
    counts = Counter(found.verdict.word for _, found in done.verdicts)
    counts["skipped"] = len(done.skipped)
    if counts.total():
        print(f"\n{len(done.verdicts)} rows: " + ", ".join(f"{n} {word}" for word, n in counts.items() if n))
    if done.picture is not None:
        print(done.picture)


def _print_row(runs: str, found: BesidePaper) -> None:
    """Verdict, ACR − theirs with its interval (in percent of the printed ACR too), and the cells."""
    row, v, cells = found.row, found.verdict, found.cells
    notes = "; ".join([*found.reductions, *(f"changed {setting}" for setting in found.changed)])
    print(f"{row.title} [{row.name}]  {runs}: {v.word}" + (f" ({notes})" if notes else ""))
    against = f"the authors' {v.theirs:.4f} on the same images" if v.paired else f"the printed {v.theirs:.4f}"
    ends = (v.difference, *v.interval)
    difference = "{:+.4f} [{:+.4f}, {:+.4f}]".format(*ends)
    share = "{:+.2f} % [{:+.2f}, {:+.2f}]".format(*(100 * value / row.acr for value in ends))
    print(f"ACR minus {against}: {difference}, {share}; {v.images:,} images")
    digits = [(4 if row.acr_sd is not None else 3) if c.radius is None else 1 for c in cells]

    def line(title: str, values: Iterable[float], sign: str = "") -> list[str]:
        return [title, *(f"{x:{sign}.{d}f}" if math.isfinite(x) else "–" for x, d in zip(values, digits, strict=True))]

    fewer = any("test images" in words for words in found.reductions)
    lines = [
        line("ours, reduced" if found.reductions else "ours", (c.ours for c in cells)),
        line("± s.e., images", (c.standard_error for c in cells)),
        line("± s.d., seeds", (c.deviation or 0.0 for c in cells)),
        line(f"paper{', all images' * fewer}", (c.paper for c in cells)),
        line(f"gap{' to all images' * fewer}", (c.gap for c in cells), "+"),
    ]
    if v.seeds == 1:
        del lines[2]
    print_table(["", *("ACR" if c.radius is None else f"{c.radius:.2f}" for c in cells)], lines)
