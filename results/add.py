"""Publish finished runs: `python -m results.add RUN… [--weights]`, then `make results`."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

from results.run import ALL_IMAGES

from smoothcert.errors import InputError
from smoothcert.files.writing import write_atomically
from smoothcert.records.log import missing, read_certification
from smoothcert.records.parts import files_of
from smoothcert.records.run_folder import RunFolder

RUNS = Path(__file__).parent / "runs"


def add(source: Path, weights: bool, to: Path = RUNS) -> None:
    """Copy recipe and training log, pack the certification logs, and keep the weights where asked to."""
    run, target = RunFolder(source), to / source.resolve().name
    of_all = source / ALL_IMAGES
    logs = [run.certification_log, *([of_all] if of_all.exists() else [])]
    for log in logs:
        if files_of(log) != [log] or missing(found := read_certification(log)) or found.closing is None:
            raise InputError(f"{log}: not one finished log with a closing row (see `smoothcert merge`)")
    target.mkdir(parents=True, exist_ok=True)
    for file in (run.recipe, run.training_log, *([run.model] if weights else [])):
        write_atomically(target / file.name, file.read_bytes())
    for log in logs:
        packed = gzip.compress(log.read_bytes(), mtime=0)  # the same log gives the same file
        write_atomically(target / f"{log.name}.gz", packed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m results.add", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--weights", action="store_true", help="keep model.safetensors too")
    arguments = parser.parse_args()
    try:
        for path in arguments.runs:
            add(path, arguments.weights)
    except (InputError, OSError) as error:
        parser.error(str(error))
