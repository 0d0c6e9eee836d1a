"""Publish finished runs: `python -m results.add RUN… [--weights]`, then `make results`."""

from __future__ import annotations

import argparse
import gzip
import shutil
from pathlib import Path

from smoothcert.certification.log import read_log
from smoothcert.certification.parts import files_of, missing
from smoothcert.errors import InputError
from smoothcert.run_folder import RunFolder

RUNS = Path(__file__).parent / "runs"


def add(source: Path, weights: bool, to: Path = RUNS) -> None:
    """Copy recipe and training log, pack the certification log, and keep the weights where asked to."""
    run, target = RunFolder(source), to / source.resolve().name
    if files_of(run.certification_log) != [run.certification_log] or missing(read_log(run.certification_log)):
        raise InputError(f"{source}: its certification is not one finished log (see `smoothcert merge`)")
    target.mkdir(parents=True, exist_ok=True)
    for file in (run.recipe, run.training_log, *([run.model] if weights else [])):
        shutil.copyfile(file, target / file.name)
    packed = gzip.compress(run.certification_log.read_bytes(), mtime=0)  # the same log gives the same file
    (target / f"{run.certification_log.name}.gz").write_bytes(packed)


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
