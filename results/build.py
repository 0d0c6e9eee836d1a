"""The tables and figures of results/ and of the README, from the logs in results/runs alone: `make results`.

A run folder there holds recipe.json, train.jsonl, certify.jsonl.gz and, where it may be certified at once, its weights.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from smoothcert.analysis import Results, read_results, summarize
from smoothcert.analysis.all_images import acr_on_all_images
from smoothcert.analysis.beside_paper import Cell, beside
from smoothcert.analysis.cost import cost
from smoothcert.analysis.metrics import paired_difference
from smoothcert.analysis.plots import Panel, plot_panels
from smoothcert.certification.log import read_log
from smoothcert.errors import InputError
from smoothcert.paper import Row, rows
from smoothcert.recipes import Recipe, from_dict
from smoothcert.recipes.cost import passes_per_image
from smoothcert.run_folder import RunFolder
from smoothcert.training.log import read_training_log

HERE = Path(__file__).parent
SIGMAS = (0.25, 0.5, 1.0)
# The paper's own logs of all 10,000 images: by them one sees how hard a run's images are.
_AT_HALF = "mnist_consistency_lambda5_m4_sigma0.50.tsv.gz"
PUBLISHED = {0.25: _AT_HALF, 0.5: _AT_HALF, 1.0: "mnist_consistency_lambda1_sigma1.00.tsv.gz"}
TITLES = {
    "gaussian": "Gaussian",
    "stability": "Stability",
    "consistency": "Consistency",
    "consistency-fast": "Consistency, fast",
    "macer": "MACER, short",
    "smoothadv-short": "SmoothAdv, short",
    "smoothadv+consistency-short": "SmoothAdv + Consistency, short",
}
CHEAP = ("gaussian", "stability", "consistency")
COLUMNS = ("run", "data", "method", "sigma", "seed", "reduced", "images", "n", "alpha")
COLUMNS += ("radius", "ours", "standard_error", "as_printed", "paper", "gap")
DEAR = ("macer", "smoothadv-short", "smoothadv+consistency-short")


@dataclass(frozen=True)
class Run:
    """One training and its certification. The folder's name is DATA-METHOD-σ[-reducedF]-seedS."""

    folder: Path
    data: str
    method: str
    sigma: float
    seed: int

    @cached_property
    def results(self) -> Results:
        return read_results(self.folder / "certify.jsonl.gz")

    @cached_property
    def recipe(self) -> Recipe:
        return from_dict(RunFolder(self.folder).read_recipe())

    @property
    def minutes(self) -> float:
        return cost(read_training_log(RunFolder(self.folder).training_log)).seconds / 60

    @property
    def passes(self) -> int:
        """Forward-backward passes an image of the training set went through."""
        return self.recipe.epochs * passes_per_image(self.recipe)

    @property
    def acr(self) -> Cell:
        """Beside the paper's mean of five seeds where it has one."""
        return beside(self.results, self._row(7 if self.data == "mnist" else 4)).cells[0]

    @property
    def accuracies(self) -> Row:
        """The printed row with certified accuracies, which the table of five seeds has not."""
        return self._row(6 if self.data == "mnist" else 4)

    def _row(self, table: int) -> Row:
        wanted = (table, self.recipe.model, re.sub("-(fast|short)$", "", self.method), self.sigma)
        (row,) = (r for r in rows() if (r.table, r.network, r.method, r.sigma) == wanted)
        return row


@dataclass(frozen=True)
class Judged:
    """The ACR on all test images, estimated from those that were certified, beside the paper's."""

    ours: float
    standard_error: float
    paper: float
    gap: float

    @property
    def allowed(self) -> float:
        return 3 * self.standard_error + 0.005 * self.paper

    @property
    def verdict(self) -> str:
        return "agrees" if abs(self.gap) <= self.allowed else "differs"


def judge(run: Run) -> Judged:
    ours, error = acr_on_all_images(run.results, read_results(HERE / "published" / PUBLISHED[run.sigma]))
    rounding = run.acr.as_printed - run.acr.ours
    return Judged(ours, error, run.acr.paper, ours + rounding - run.acr.paper)


def find_runs(folder: Path) -> list[Run]:
    runs = []
    for path in sorted(folder.iterdir()):
        name = re.fullmatch(r"([a-z0-9]+(?:-resnet20)?)-([a-z+-]+)-([\d.]+)(-reduced[\d.]+)?-seed(\d+)", path.name)
        if name is None or not (path / "certify.jsonl.gz").exists():
            raise InputError(f"{path}: not a published run (DATA-METHOD-σ-seedN with a certify.jsonl.gz)")
        runs.append(Run(path, name[1], name[2], float(name[3]), int(name[5])))
    return runs


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    numeric = ["---:" if i > 1 else "---" for i in range(len(header))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, numeric, *lines))


def main_table(runs: Sequence[Run]) -> str:
    """The cheap methods on the paper's schedule, ours beside the paper's."""
    header = ["σ", "method", "these images", "all 10,000", "paper", "gap", "allowed", "verdict", "passes", "minutes"]
    return markdown(header, [_line(run) for run in of(runs, CHEAP)])


def _line(run: Run) -> list[str]:
    found = judge(run)
    return [
        f"{run.sigma:.2f}",
        TITLES[run.method],
        with_error(run.acr.ours, run.acr.standard_error),
        with_error(found.ours, found.standard_error),
        f"{found.paper:.4f}",
        f"{100 * found.gap / found.paper:+.1f} %",
        f"±{100 * found.allowed / found.paper:.1f} %",
        found.verdict,
        str(run.passes),
        f"{run.minutes:.0f}",
    ]


def with_error(value: float, error: float) -> str:
    return f"{value:.3f} ± {error:.3f}"


def order_table(runs: Sequence[Run]) -> str:
    """Does the paper's order hold? Image by image, which removes what the images share."""
    header = ["σ", "difference", "ours ± s.e.", "paper"]
    lines = []
    for sigma in SIGMAS:
        at = {run.method: run for run in of(runs, CHEAP) if run.sigma == sigma}
        for better, worse in (("consistency", "stability"), ("stability", "gaussian")):
            if better in at and worse in at:
                gap, error = paired_difference(at[better].results, at[worse].results)
                paper = at[better].acr.paper - at[worse].acr.paper
                words = f"{TITLES[better]} − {TITLES[worse]}"
                lines.append([f"{sigma:.2f}", words, f"{gap:+.4f} ± {error:.4f}", f"{paper:+.4f}"])
    return markdown(header, lines)


def fast_table(runs: Sequence[Run]) -> str:
    """The fast recipe beside the paper's Consistency, seed by seed, and beside ours of 90 epochs where it is there."""
    header = ["σ", "seed", "these images", "all 10,000", "paper", "gap", "minus our 90 epochs", "passes", "minutes"]
    slow = {run.sigma: run for run in of(runs, ("consistency",))}
    lines = []
    for run in of(runs, ("consistency-fast",)):
        line, whole = _line(run), slow.get(run.sigma)
        pair = "–" if whole is None else "{:+.3f} ± {:.3f}".format(*paired_difference(run.results, whole.results))
        lines.append([line[0], str(run.seed), *line[2:6], pair, *line[-2:]])
    return markdown(header, lines)


def at_equal_cost(runs: Sequence[Run]) -> list[Run]:
    """All methods, first seeds, at those σ at which the dear ones were run."""
    sigmas = {run.sigma for run in of(runs, DEAR)}
    return [run for run in of(runs, tuple(TITLES)) if run.sigma in sigmas and run.seed == 0]


def cost_table(runs: Sequence[Run]) -> str:
    """No verdict, only what was reached and what it cost."""
    header = ["σ", "method", "epochs", "ours ± s.e.", "paper, whole schedule", "images", "n", "passes", "minutes"]
    lines = [
        [
            f"{run.sigma:.2f}",
            TITLES[run.method],
            str(run.recipe.epochs),
            with_error(run.acr.ours, run.acr.standard_error),
            f"{run.acr.paper:.4g}",
            f"{len(run.results):,}",
            f"{run.results.about['n']:,}",
            str(run.passes),
            f"{run.minutes:.0f}",
        ]
        for run in runs
    ]
    return markdown(header, lines)


def of(runs: Sequence[Run], methods: Sequence[str], data: str = "mnist") -> Iterator[Run]:
    """By σ, then in the order of `methods`, then by seed."""
    chosen = [r for r in runs if r.method in methods and r.data == data]
    yield from sorted(chosen, key=lambda r: (r.sigma, methods.index(r.method), r.seed))


def all_cells(runs: Sequence[Run]) -> str:
    """Every number of ours beside the printed one, for scripts: accuracies in percent, full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in runs:
        s = summarize(run.results, [])
        fixed = [
            run.folder.name,
            run.data,
            run.method,
            run.sigma,
            run.seed,
            run.recipe.reduced or "",
            s.images,
            s.n,
            s.alpha,
        ]
        for cell in (run.acr, *beside(run.results, run.accuracies).cells[1:]):
            radius = "ACR" if cell.radius is None else cell.radius
            writer.writerow([*fixed, radius, cell.ours, cell.standard_error, cell.as_printed, cell.paper, cell.gap])
    return out.getvalue()


def draw(runs: Sequence[Run], path: Path) -> None:
    """Certified accuracy by radius, a panel for each σ; dots are the paper's."""
    panels = []
    for sigma in SIGMAS:
        at = [run for run in of(runs, (*CHEAP, "consistency-fast")) if run.sigma == sigma and run.seed == 0]
        curves = tuple((TITLES[run.method], run.results) for run in at)
        panels.append(Panel(f"MNIST, σ = {sigma:.2f}", curves, {TITLES[run.method]: run.accuracies for run in at}))
    plot_panels([panel for panel in panels if panel.curves], path)


def environments(runs: Sequence[Run]) -> str:
    found = {tuple(sorted(_versions(run).items())) for run in runs}
    return "".join(f"- {', '.join(f'{k} {v}' for k, v in versions)}\n" for versions in sorted(found))


def _versions(run: Run) -> dict[str, str]:
    environment = read_log(run.folder / "certify.jsonl.gz").environment
    return {name: version for name, version in environment.items() if name != "started"}


def replaced(text: str, name: str, block: str) -> str:
    """`text` with what stands between the marks of that name replaced."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, mark, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not mark or not closed:
        raise InputError(f"the marks {begin.strip()} … {end} are missing")
    return f"{before}{begin}{block}{end}{after}"


def build(source: Path, out: Path, readme: Path) -> None:
    """Write table, page and figure to `out`, and the main table into `readme`."""
    runs = find_runs(source / "runs")
    blocks = {
        "main table": main_table(runs),
        "order": order_table(runs),
        "fast": fast_table(runs),
        "equal cost": cost_table(at_equal_cost(runs)),
        "cifar10": cost_table([*of(runs, CHEAP, data="cifar10-resnet20")]),
        "environment": environments(runs),
    }
    page = (source / "README.md").read_text()
    for name, block in blocks.items():
        page = replaced(page, name, block)
    (out / "README.md").write_text(page)
    (out / "cells.csv").write_text(all_cells(runs))
    draw(runs, out / "mnist.png")
    text = readme.read_text()
    for name in ("main table", "fast"):
        text = replaced(text, name, blocks[name])
    readme.write_text(text)


if __name__ == "__main__":
    argparse.ArgumentParser(prog="make results", description=__doc__).parse_args()
    build(HERE, HERE, HERE.parent / "README.md")
