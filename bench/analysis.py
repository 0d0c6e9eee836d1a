"""Seconds to read, tabulate, plot and report ten logs of ten thousand rows, imports not counted → JSON.

Fails above 5 s for any of them: a person waits for these.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from smoothcert.analysis import read_results, summarize
from smoothcert.analysis.metrics import default_radii
from smoothcert.analysis.tables import FORMATS
from smoothcert.figures.curves import plot_curves
from smoothcert.files.jsonl import encode
from smoothcert.noise import Gaussian
from smoothcert.procedures.certificate import certify
from smoothcert.records.log import FORMAT
from smoothcert.report.entry import Entry
from smoothcert.report.page import render

LOGS, ROWS, N, LIMIT = 10, 10_000, 100_000, 5.0


def write_log(path: Path, seed: int) -> None:
    """A log like those of `certify`, of made-up votes."""
    rng = np.random.default_rng(seed)
    noise = {"kind": "gaussian", "sigma": 0.5}
    decides = {"n0": 100, "n": N, "alpha": 0.001, "noise": noise, "selected": ROWS, "procedure": "paper"}
    lines = [encode({"format": FORMAT, "name": f"run {seed}", "decides": decides, "environment": {}})]
    errors = (N * rng.beta(0.2, 2, 200)).astype(int)
    kinds = [certify([100, 0], [N - int(e), int(e)], Gaussian(0.5), 0.001) for e in errors]
    for index in range(ROWS):
        c = kinds[int(rng.integers(len(kinds)))]
        label = int(rng.random() < 0.05)
        row = {"index": index, "label": label, "predict": c.label, "radius": c.radius, "correct": int(c.label == label)}
        votes = {"selection": {"0": 100}, "estimation": {"0": c.estimation[0], "1": c.estimation[1]}}
        lines.append(encode({**row, **votes, "seconds": 1.234}))
    path.write_bytes(b"".join(lines))


def main() -> None:
    import jinja2  # noqa: F401
    from matplotlib import pyplot  # noqa: F401
    from scipy import special  # noqa: F401

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{i}.jsonl" for i in range(LOGS)]
        for i, path in enumerate(paths):
            write_log(path, i)
        seconds = {}

        def timed(what: str, since: float) -> None:
            seconds[what] = round(time.perf_counter() - since, 3)

        clock = time.perf_counter()
        everything = [read_results(path) for path in paths]
        timed("read", clock)
        clock = time.perf_counter()
        summaries = [summarize(r, default_radii(everything)) for r in everything]
        for write in FORMATS.values():
            write(summaries)
        timed("table", clock)
        clock = time.perf_counter()
        plot_curves(everything, folder / "plot.png")
        timed("plot", clock)
        clock = time.perf_counter()
        page = render([Entry(r) for r in everything])
        timed("report", clock)
    slow = [what for what in ("table", "plot", "report") if seconds["read"] + seconds[what] > LIMIT]
    print(json.dumps({"bench": "analysis", "logs": LOGS, "rows": ROWS, "page_bytes": len(page.encode()), **seconds}))
    sys.exit(f"slower than {LIMIT} s with reading: {', '.join(slow)}" if slow else 0)


if __name__ == "__main__":
    main()
