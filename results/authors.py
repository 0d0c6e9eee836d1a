"""The authors' logs, made small enough to carry: `python -m results.authors FOLDER` writes paper/logs.

FOLDER holds the TSV logs published with the paper, and in mnist-five-seeds/ those behind nine cells of table 7. Of the
former those are left out that are one of the five trainings.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from smoothcert import paper
from smoothcert.analysis import Results, read_results
from smoothcert.analysis.metrics import contributions
from smoothcert.analysis.printed import rows_for
from smoothcert.errors import InputError
from smoothcert.files.writing import write_atomically
from smoothcert.paper.published import file_name
from smoothcert.recipes import real_name

LOGS = Path(paper.__file__).parent / "logs"


def find_logs(folder: Path) -> dict[str, list[Path]]:
    """By the name of the recipe, which follows from the name of the log."""
    found = defaultdict(list)
    for path in sorted((folder / "mnist-five-seeds").glob("*.tsv.gz")):
        name = re.fullmatch(r"([a-z]+)_sigma([\d.]+)_seed\d\.tsv\.gz", path.name)
        if name is None:
            raise InputError(f"{path}: the name of such a log is METHOD_sigmaσ_seedN.tsv.gz")
        found[f"mnist/{name[1]}/{name[2]}"].append(path)
    for path in sorted(folder.glob("*.tsv.gz")):
        names = {real_name(name) for row in rows_for(read_results(path)) for name in row.recipes}
        if len(names) != 1:
            raise InputError(f"{path}: its name fits {len(names)} recipes, not one")
        (recipe,) = names
        if len(found[recipe]) < 2:
            found[recipe].append(path)
    return dict(found)


def packed(logs: Sequence[Results]) -> str:
    """What `paper.published` reads: lines of seeds, every, label and thousandths."""
    first = logs[0]
    every = int(first.index[1] - first.index[0])
    for log in logs:
        if not np.array_equal(log.index, every * np.arange(len(first))) or not np.array_equal(log.label, first.label):
            raise InputError(f"{log.name}: not every {every}th image in order, or other labels than {first.name}")
    thousandths = np.rint(1000 * sum(contributions(log) for log in logs)).astype(np.int64)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    lines = {"seeds": [len(logs)], "every": [every], "label": first.label, "thousandths": thousandths}
    writer.writerows([name, *values] for name, values in lines.items())
    return out.getvalue()


def build(folder: Path, to: Path = LOGS) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for recipe, paths in find_logs(folder).items():
        text = packed([read_results(path) for path in paths])
        write_atomically(to / file_name(recipe), gzip.compress(text.encode(), mtime=0))  # the same logs, the same bytes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m results.authors", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    try:
        build(parser.parse_args().folder)
    except (InputError, OSError) as error:
        parser.error(str(error))
