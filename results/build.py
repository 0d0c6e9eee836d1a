"""The tables and figures of results/ and of the README, from the logs in results/runs alone: `make results`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from results.run import Run, find_runs, of
from results.tables import (
    CHEAP,
    FAST,
    TITLES,
    all_cells,
    best_table,
    cifar10_table,
    equal_cost_table,
    fast_table,
    front_table,
    front_wide_table,
    leaderboards,
    main_table,
    order_table,
    tenth_table,
    wide_table,
)
from results.ways import CIFAR10, MNIST, ways_table

from smoothcert.errors import InputError
from smoothcert.figures.curves import Panel, plot_panels

HERE = Path(__file__).parent


def draw(runs: Sequence[Run], title: str, beside_paper: Sequence[str], path: Path) -> None:
    """Certified accuracy by radius, a panel for each σ, first seeds; the paper's cells beside the methods named."""
    panels = []
    for sigma in sorted({run.sigma for run in runs}):
        at = [run for run in runs if run.sigma == sigma and run.seed == 0]
        curves = tuple((TITLES[run.method], run.results) for run in at)
        printed = {TITLES[run.method]: run.printed for run in at if run.method in beside_paper}
        panels.append(Panel(f"{title}, σ = {sigma:.2f}", curves, printed))
    plot_panels(panels, path)


def environments(runs: Sequence[Run]) -> str:
    found = {", ".join(f"{name} {version}" for name, version in sorted(run.versions.items())) for run in runs}
    return "".join(f"- {versions}\n" for versions in sorted(found))


def replaced(text: str, name: str, block: str) -> str:
    """`text` with what stands between the marks of that name replaced."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, mark, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not mark or not closed:
        raise InputError(f"the marks {begin.strip()} … {end} are missing")
    return f"{before}{begin}{block}{end}{after}"


def _filled(text: str, blocks: Mapping[str, str]) -> str:
    for name, block in blocks.items():
        text = replaced(text, name, block)
    return text


def build(source: Path, out: Path, readme: Path) -> None:
    """Write page, cells and figure to `out`, and what the front page shows into `readme`."""
    runs = find_runs(source / "runs")
    blocks = {
        "main table": main_table(runs),
        "order": order_table(runs),
        "fast": fast_table(runs),
        "best": best_table(runs),
        "equal cost": equal_cost_table(runs),
        "a tenth": tenth_table(runs),
        "cifar10": cifar10_table(runs),
        "cifar10 fast": wide_table(runs),
        "cifar10 order": order_table(runs, FAST, "cifar10"),
        "ways mnist": ways_table(MNIST, source / "ways"),
        "ways cifar10": ways_table(CIFAR10, source / "ways"),
        "environment": environments(runs),
    }
    page = _filled((source / "README.md").read_text(), blocks)
    on_front = {"main table": front_table(runs), "cifar10 fast": front_wide_table(runs)}
    front = _filled(readme.read_text(), on_front)
    (out / "README.md").write_text(page)
    boards = (source / "leaderboard.md").read_text()
    (out / "leaderboard.md").write_text(replaced(boards, "boards", leaderboards(runs)))
    (out / "cells.csv").write_text(all_cells(runs))
    draw([*of(runs, (*CHEAP, "consistency-fast"))], "MNIST", CHEAP, out / "mnist.png")
    draw([*of(runs, FAST, data="cifar10")], "CIFAR-10", FAST, out / "cifar10.png")
    readme.write_text(front)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make results", description=__doc__)
    parser.parse_args()
    try:
        build(HERE, HERE, HERE.parent / "README.md")
    except InputError as error:
        parser.error(str(error))
