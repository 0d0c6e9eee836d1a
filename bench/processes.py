"""Certification by one and by two processes: speed, and whether the votes are the same.

    python -m bench.processes [--run RUN] [--rounds 3] [--images 40] [--n 5000] [--only speed|votes] [--out FILE.json]

speed: votes/s of one process with one thread and of two such processes, as torchrun starts them; they take turns, and
the ratio is the median over rounds. votes: 1, 2 and 3 processes with batches of 7, 64 and 1000; counted are the images
whose votes differ from those of one process with batches of 100. A network is trained in half a minute (mnist5k,
σ = 0.5) unless `--run` names one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from fuzz.forked import many, wait

from smoothcert.records.log import CertificationLog
from smoothcert.records.parts import files_of, read_whole


def certify(run: Path, log: Path, processes: int, *options: str) -> tuple[CertificationLog, float]:
    """What it found, and the seconds it took, start-up included."""
    begun = time.perf_counter()
    codes = [wait(p) for p in many(["certify", str(run), "--threads", "1", "--out", str(log), *options], processes)]
    taken = time.perf_counter() - begun
    if any(codes):
        raise SystemExit(f"certify failed: {codes}")
    return read_whole(log), taken


def votes(log: CertificationLog) -> dict[int, tuple[Any, Any]]:
    return {row["index"]: (row["selection"], row["estimation"]) for row in log.rows}


def speed(run: Path, folder: Path, rounds: int, options: list[str]) -> dict[str, Any]:
    rates: dict[int, list[float]] = {1: [], 2: []}
    for number in range(rounds):
        for processes, found in rates.items():
            log, taken = certify(run, folder / f"speed{number}-{processes}.jsonl", processes, *options)
            cast = sum(sum(s.values()) + sum(e.values()) for s, e in votes(log).values())
            found.append(cast / taken)
    ratio = statistics.median(two / one for one, two in zip(rates[1], rates[2], strict=True))
    one, two = (statistics.median(found) for found in rates.values())
    print(f"votes/s  1 process {one:,.0f}  2 processes {two:,.0f}  ratio {ratio:.2f}  (at least 1.8)", flush=True)
    return {"votes_per_second": rates, "ratio": ratio}


def identity(run: Path, folder: Path, options: list[str]) -> dict[str, int]:
    expected = votes(certify(run, folder / "expected.jsonl", 1, "--batch", "100", *options)[0])
    cast = sum(sum(e.values()) for _, e in expected.values())
    found = {}
    for processes in (1, 2, 3):
        for batch in (7, 64, 1000):
            log = folder / f"votes{processes}-{batch}.jsonl"
            got = votes(certify(run, log, processes, "--batch", str(batch), *options)[0])
            assert got.keys() == expected.keys() and len(files_of(log)) == processes
            differing = sum(got[index] != expected[index] for index in expected)
            found[f"{processes} processes, batch {batch}"] = differing
            print(f"  {processes} processes, batch {batch:4}: {differing} of {len(expected)} images differ", flush=True)
    print(f"  ({cast:,} votes each)")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, default=40)
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--only", choices=("speed", "votes"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}"
    report: dict[str, Any] = {"torch": torch.__version__, "machine": machine}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run = args.run or folder / "run"
        if args.run is None:
            for process in many(["train", "mnist5k/gaussian/0.50", "--out", str(run)], 1):
                wait(process)
        every = str(max(1, 1000 // args.images))
        if args.only in (None, "speed"):
            report["speed"] = speed(run, folder, args.rounds, ["--n", str(args.n), "--every", every])
        if args.only in (None, "votes"):
            options = ["--n", str(args.n), "--every", every, "--procedure", "curve"]
            report["images that differ"] = identity(run, folder, options)
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
