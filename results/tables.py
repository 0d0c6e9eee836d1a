"""Published runs as tables: Markdown for people, one CSV of all cells for scripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from results.equal_votes import AtEqualVotes
from results.run import Run, of

from smoothcert.analysis.beside_paper import beside
from smoothcert.analysis.leaderboard import leaderboard
from smoothcert.analysis.leaderboard_table import markdown as markdown_board
from smoothcert.analysis.leaderboard_table import title
from smoothcert.recipes.after2020 import PUBLISHED

TITLES = {
    "gaussian": "Gaussian",
    "stability": "Stability",
    "consistency": "Consistency",
    "gaussian-fast": "Gaussian, fast",
    "stability-fast": "Stability, fast",
    "consistency-fast": "Consistency, fast",
    "gaussian-onward": "Gaussian, onward",
    "stability-onward": "Stability, onward",
    "consistency-onward": "Consistency, onward",
    "best": "Consistency, best",
    "macer": "MACER, short",
    "smoothadv-short": "SmoothAdv, short",
    "smoothadv+consistency-short": "SmoothAdv + Consistency, short",
    "smoothmix-tenth": "SmoothMix, a tenth",
    "consistency-tenth": "Consistency, a tenth",
}
CHEAP = ("gaussian", "stability", "consistency")
FAST = tuple(f"{method}-{how}" for method in CHEAP for how in ("fast", "onward"))
TENTH = ("consistency-tenth", "smoothmix-tenth")
DEAR = ("macer", "smoothadv-short", "smoothadv+consistency-short")
_WORDS = ("σ", "method", "difference", "seed", "verdict", "way", "training")  # columns that hold no number to line up

Column = Callable[[Run], str]


def _beside_resnet110(words: Callable[[AtEqualVotes], str]) -> Column:
    """Of Consistency only: the authors' logs are of no other method."""
    return lambda run: words(run.beside_consistency) if run.method.startswith("consistency") else "–"


COLUMNS: dict[str, Column] = {
    "σ": lambda run: f"{run.sigma:.2f}",
    "method": lambda run: TITLES[run.method],
    "seed": lambda run: str(run.seed),
    "epochs": lambda run: str(run.recipe.epochs),
    "images": lambda run: f"{len(run.results):,}",
    "n": lambda run: f"{run.results.header.n:,}",
    "these images": lambda run: _with_error(run.summary.acr, run.summary.acr_standard_error),
    "at radius 0": lambda run: f"{100 * run.summary.certified_accuracy[0.0]:.1f} %",
    "authors, same images": lambda run: f"{run.verdict.theirs:.3f}",
    "ours − theirs [95 %]": lambda run: _difference(run),
    "all images": lambda run: _with_error(*run.all_images),
    "paper": lambda run: f"{run.acr.paper:.3f}",
    "ResNet-110, same images and n": _beside_resnet110(lambda beside: f"{beside.theirs:.3f}"),
    "ours − ResNet-110 [95 %]": _beside_resnet110(
        lambda beside: "{:+.3f} [{:+.3f}, {:+.3f}]".format(beside.difference, *beside.interval)
    ),
    "all images, same n": lambda run: _with_error(
        run.beside_consistency.everywhere, run.beside_consistency.standard_error
    ),
    "ResNet-110, all images, same n": _beside_resnet110(lambda beside: f"{beside.theirs_everywhere:.3f}"),
    "gap": lambda run: f"{100 * (run.all_images[0] / run.acr.paper - 1):+.1f} %",
    "verdict": lambda run: run.verdict.word,
    "passes": lambda run: str(run.passes),
    "minutes": lambda run: f"{run.minutes:.0f}",
}


def _with_error(value: float, error: float) -> str:
    return f"{value:.3f} ± {error:.3f}"


def _difference(run: Run) -> str:
    """In percent of the printed ACR, by which it is judged."""
    percent = [100 * value / run.acr.paper for value in (run.verdict.difference, *run.verdict.interval)]
    return "{:+.1f} % [{:+.1f}, {:+.1f}]".format(*percent)


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = ["---" if name in _WORDS else "---:" for name in header]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *lines))


def table(runs: Iterable[Run], *columns: str, **more: Column) -> str:
    cells = COLUMNS | {name.replace("_", " "): column for name, column in more.items()}
    return markdown([*columns], ([cells[column](run) for column in columns] for run in runs))


def main_table(runs: Sequence[Run]) -> str:
    """The cheap methods on the paper's schedule, ours beside the authors' own five trainings."""
    columns = ("these images", "authors, same images", "ours − theirs [95 %]", "all images", "paper", "verdict")
    return table(of(runs, CHEAP), "σ", "method", *columns, "passes", "minutes")


def front_table(runs: Sequence[Run]) -> str:
    """The same for the front page, in short."""
    return table(of(runs, CHEAP), "σ", "method", "these images", "all images", "paper", "verdict")


def order_table(runs: Sequence[Run], methods: Sequence[str] = CHEAP, data: str = "mnist") -> str:
    """Does the paper's order hold? Each method and the next, image by image, which removes what the images share."""
    lines = []
    for sigma, at in groupby(of(runs, methods, data), key=lambda run: run.sigma):
        firsts = [run for run in at if run.seed == 0]
        for worse, better in reversed([*pairwise(firsts)]):
            ours = "{:+.4f} ± {:.4f}".format(*better.minus(worse))
            words = f"{TITLES[better.method]} − {TITLES[worse.method]}"
            lines.append([f"{sigma:.2f}", words, ours, f"{better.acr.paper - worse.acr.paper:+.4f}"])
    return markdown(["σ", "difference", "ours ± s.e.", "paper"], lines)


def minus(others: Iterable[Run]) -> Column:
    """ACR minus that of the other run at the same σ, image by image."""
    at = {run.sigma: run for run in others}

    def difference(run: Run) -> str:
        if run.sigma not in at or run is at[run.sigma]:
            return "–"
        return "{:+.3f} ± {:.3f}".format(*run.minus(at[run.sigma]))

    return difference


def fast_table(runs: Sequence[Run]) -> str:
    """The fast recipe, seed by seed, beside the paper's Consistency and beside ours of 90 epochs where it is there."""
    columns = ("these images", "all images", "paper", "gap", "minus our 90 epochs", "passes", "minutes")
    slow = minus(of(runs, ("consistency",)))
    return table(of(runs, ("consistency-fast",)), "σ", "seed", *columns, minus_our_90_epochs=slow)


def best_table(runs: Sequence[Run]) -> str:
    """Our best at the cost of the paper's Consistency, beside the best that was published: ACR and what it gave up."""
    columns = ("these images", "all images", "CAT-RS", "at radius 0", "90 epochs, at radius 0", "minus our 90 epochs")
    slow = {run.sigma: run for run in of(runs, ("consistency",))}
    more: dict[str, Column] = {
        "CAT-RS": lambda run: f"{PUBLISHED[f'mnist/cat-rs/{run.sigma:.2f}']:.3f}",
        "90 epochs, at radius 0": lambda run: COLUMNS["at radius 0"](slow[run.sigma]) if run.sigma in slow else "–",
        "minus our 90 epochs": minus(slow.values()),
    }
    return table(of(runs, ("best",)), "σ", "seed", *columns, "passes", "minutes", **more)


def tenth_table(runs: Sequence[Run]) -> str:
    """SmoothMix and Consistency for a tenth of their schedules, beside what was published for all of it."""
    columns = ("epochs", "these images", "all images", "minus Consistency", "published", "at radius 0", "passes")
    more: dict[str, Column] = {
        "minus Consistency": minus(of(runs, ("consistency-tenth",))),
        "published": lambda run: f"{PUBLISHED.get(run.twin) or run.acr.paper:.3f}",
    }
    return table(of(runs, TENTH), "σ", "method", *columns, "minutes", **more)


def leaderboards(runs: Sequence[Run]) -> str:
    """`smoothcert leaderboard` of all runs: a board for each data set, σ and level."""
    boards = leaderboard([replace(run.results, name=run.folder.name) for run in runs])
    return "\n".join(f"## {title(board)}\n\n{markdown_board(board)}" for board in boards)


def equal_cost_table(runs: Sequence[Run]) -> str:
    """No verdict, only what was reached and what it cost."""
    columns = ("epochs", "these images", "all images", "minus Consistency", "paper", "passes", "minutes")
    reference = minus(of(runs, ("consistency",)))
    return table(at_equal_cost(runs), "σ", "method", *columns, minus_Consistency=reference)


def cifar10_table(runs: Sequence[Run]) -> str:
    """Reduced, so no verdict: whether Consistency is ahead of Gaussian, as in the paper."""
    trained = [*of(runs, CHEAP, data="cifar10-resnet20")]
    columns = ("epochs", "these images", "minus Gaussian", "paper", "images", "n", "passes", "minutes")
    reference = minus(run for run in trained if run.method == "gaussian")
    return table(trained, "σ", "method", *columns, minus_Gaussian=reference)


def wide_table(runs: Sequence[Run]) -> str:
    """The fast recipes on CIFAR-10, Consistency beside the authors' with ResNet-110."""
    columns = ("these images", "ResNet-110, same images and n", "ours − ResNet-110 [95 %]", "all images, same n")
    more = ("ResNet-110, all images, same n", "paper", "images", "n", "passes", "minutes")
    return table(of(runs, FAST, data="cifar10"), "σ", "method", "seed", *columns, *more)


def front_wide_table(runs: Sequence[Run]) -> str:
    """The same for the front page: first seeds, and what one asks first."""
    shown = [run for run in of(runs, FAST, data="cifar10") if run.seed == 0]
    reference = minus(run for run in shown if run.method.startswith("gaussian"))
    columns = ("minus Gaussian", "ResNet-110, same images and n", "ours − ResNet-110 [95 %]", "passes", "minutes")
    return table(shown, "σ", "method", "these images", *columns, minus_Gaussian=reference)


def at_equal_cost(runs: Sequence[Run]) -> list[Run]:
    """All methods, first seeds, at those σ at which the dear ones were run."""
    sigmas = {run.sigma for run in of(runs, DEAR)}
    methods = [method for method in TITLES if method not in TENTH]
    return [run for run in of(runs, methods) if run.sigma in sigmas and run.seed == 0]


def all_cells(runs: Sequence[Run]) -> str:
    """Every number of ours beside the printed one: accuracies in percent, full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    about = ("run", "reduced", "images", "n", "alpha")
    numbers = ("ours", "standard_error", "as_printed", "paper", "gap")
    writer.writerow([*about, "radius", *numbers])
    for run in (run for run in runs if run.has_row):
        s = run.summary
        fixed = [run.folder.name, run.recipe.reduced or "", s.images, s.n, s.alpha]
        for cell in (run.acr, *beside([run.results], run.printed).cells[1:]):
            radius = "ACR" if cell.radius is None else cell.radius
            writer.writerow([*fixed, radius, *(getattr(cell, name) for name in numbers)])
    return out.getvalue()
