"""A classifier that never saw noise, certified in several ways: the table of docs/any-classifier.md.

results/ways has a log for each row and σ. `python -m results.ways FOLDER` packs finished logs of these names into it.
"""

from __future__ import annotations

import argparse
import gzip
from dataclasses import dataclass
from pathlib import Path

from results.tables import markdown

from smoothcert.analysis import read_results
from smoothcert.analysis.contestant import contestant
from smoothcert.errors import InputError
from smoothcert.files.writing import write_atomically
from smoothcert.records.log import missing, read_certification

LOGS = Path(__file__).parent / "ways"
SIGMAS = (0.25, 0.5)
N = 1000


@dataclass(frozen=True)
class Way:
    log: str
    """its logs are LOG-σ.jsonl.gz"""
    words: str
    training: str
    million: float
    """multiplications of a vote"""
    kept: str | None = None
    """a run of results/runs instead, σ for {}, its log brought down to n votes on the images of the first way"""


MNIST = (
    Way("m-asis", "as it is", "–", 2.3),
    Way("m-mse", "behind a denoiser, squared error", "10 epochs of `unet32`, one for all σ", 18.0),
    Way("m-stab", "behind a denoiser, stability", "3 epochs of `unet32` for each σ *", 18.0),
    Way("m-diff", "behind one-shot diffusion", "5 epochs of `unet_noise32`, one for all σ *", 18.0),
    Way("m-ft", "fine-tuned", "2 epochs of `mnist/consistency-fast` for each σ", 2.3),
    Way("m-trained", "trained under noise", "`mnist/consistency-fast`, 11 epochs for each σ", 2.3),
)
CIFAR10 = (
    Way("c-asis", "as it is", "–", 42.9),
    Way("c-mse", "behind a denoiser, squared error", "5 epochs of `unet64`, one for all σ *", 126.1),
    Way("c-stab", "behind a denoiser, stability", "1 epoch of `unet64` for each σ *", 126.1),
    Way("c-ft", "fine-tuned", "2 epochs of `cifar10/consistency-fast` for each σ", 42.9),
    Way("c-scratch", "trained under noise as long", "2 epochs of `cifar10/consistency-fast` for each σ *", 42.9),
    Way(
        "c-trained",
        "trained under noise",
        "`cifar10/consistency-fast`, 25 epochs of `cifar_wide`",
        170.8,
        "cifar10-consistency-fast-{}-seed0",
    ),
)


def ways_table(ways: tuple[Way, ...], folder: Path = LOGS) -> str:
    """ACR and certified accuracy at radius 0 of each way and σ, and what it costs."""
    columns = [f"σ = {sigma:g}: {what}" for sigma in SIGMAS for what in ("ACR", "at radius 0")]
    lines = []
    for way in ways:
        cells = [cell for sigma in SIGMAS for cell in _cells(way, ways[0], f"{sigma:.2f}", folder)]
        lines.append([way.words, *cells, way.training, f"{way.million:g}"])
    return markdown(["way", *columns, "training", "million multiplications a vote"], lines)


def _cells(way: Way, first: Way, sigma: str, folder: Path) -> tuple[str, str]:
    log = folder / f"{way.log}-{sigma}.jsonl.gz"
    if way.kept is not None:
        log = folder.parent / "runs" / way.kept.format(sigma) / "certify.jsonl.gz"
    if not log.exists():
        return "–", "–"
    images = read_results(folder / f"{first.log}-{sigma}.jsonl.gz").index
    each, certified = contestant(read_results(log)).of_images(images).at(N, [0.0])
    error = each.std(ddof=1) / len(each) ** 0.5
    return f"{each.mean():.3f} ± {error:.3f}", f"{100 * certified.mean():.1f} %"


def add(source: Path) -> None:
    """Pack the logs of the folder that belong to a row."""
    for way in (*MNIST, *CIFAR10):
        for log in sorted(source.glob(f"{way.log}-*.jsonl")):
            if missing(found := read_certification(log)) or found.closing is None:
                raise InputError(f"{log}: not a finished log with a closing row")
            write_atomically(LOGS / f"{log.name}.gz", gzip.compress(log.read_bytes(), mtime=0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m results.ways", description=__doc__)
    parser.add_argument("folder", type=Path)
    try:
        add(parser.parse_args().folder)
    except (InputError, OSError) as error:
        parser.error(str(error))
