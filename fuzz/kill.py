"""kill -9 at random instants: trainings and two-process certifications must end as if nothing had happened.

    python -m fuzz.kill [--kills 200] [--seed 0] [--only training|certification|torchrun]

Commands run in children forked from a process that has imported torch already, so that most kills hit work and not the
start-up; `torchrun` kills the launcher, a process of it or all of them, as a real launch has them (slower: a tenth of
the kills). Prints where it stands, and exits with 1 if weights differ by a bit or an image is missing or repeated.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from fuzz.forked import alone, ended, two, wait
from smoothcert.interchange.weights import digest, load_weights
from smoothcert.records.log import CertificationLog, read_certification
from smoothcert.records.parts import files_of, read_whole
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log

TRAIN = ("train", "mnist5k/consistency/0.50", "--set", "data=fake", "--threads", "1")
MODES = ((), ("precision=bfloat16", "ema=0.9", "muon={lr = 0.02}"))  # in turn
CERTIFY = ("certify", "--n", "500", "--procedure", "curve", "--threads", "1")
Launch = Callable[[list[str]], list[int]]
LONGEST = 2.0  # seconds a process may live
TORCHRUN_LONGEST = 25.0


def torchrun(arguments: list[str]) -> list[int]:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "smoothcert", "--"]
    quiet = subprocess.DEVNULL
    return [subprocess.Popen([*command, *arguments], stdout=quiet, stderr=quiet).pid]


def children(process: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def survive(launch: Launch, arguments: list[str], rng: random.Random, kills: int = 0, longest: float = LONGEST) -> int:
    """Start, kill, start again …; at last let it finish. How often it was killed: less if it was done before."""
    for killed in range(kills):
        processes, end = launch(arguments), time.monotonic() + rng.uniform(0, longest)
        while time.monotonic() < end:
            if all(ended(process) == 0 for process in processes):
                return killed
            time.sleep(0.005)
        victims = [*processes, *(c for p in processes for c in children(p))]
        os.kill(rng.choice(victims), signal.SIGKILL)
        time.sleep(rng.uniform(0, 0.3))  # the others go on for a moment, as after the loss of a machine
        for victim in victims:
            if victim not in processes or ended(victim) is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
        for process in processes:
            wait(process)
    codes = [wait(process) for process in launch(arguments)]
    if any(codes):
        raise SystemExit(f"the last, undisturbed call failed: {codes}")
    return kills


def training(folder: Path, kills: int, rng: random.Random) -> None:
    """Trainings, one after another, until there were enough kills."""
    left, runs, seed = kills, 0, 0
    while left > 0:
        seed, runs = seed + 1, runs + 1
        epochs = min(30, max(4, left))
        arguments = [*TRAIN, "--set", f"epochs={epochs}", *MODES[seed % 2], "--seed", str(seed), "--out"]
        quiet, killed = folder / f"quiet{seed}", folder / f"killed{seed}"
        survive(alone, [*arguments, str(quiet)], rng)
        hits = survive(alone, [*arguments, str(killed)], rng, left)
        left -= hits
        weights = [digest(load_weights(RunFolder(run).model)[0]) for run in (quiet, killed)]
        seen = [row["epoch"] for row in read_training_log(RunFolder(killed).training_log)]
        same = weights[0] == weights[1] and seen == list(range(1, epochs + 1))
        print(f"training {runs}: {epochs} epochs, {hits} kills, weights {'bit-identical' if same else 'DIFFER'}")
        if not same:
            raise SystemExit(1)


def certification(folder: Path, kills: int, rng: random.Random, launch: Launch) -> None:
    """Certifications of one run by two processes, until there were enough kills."""
    model = folder / "model"
    survive(alone, [*TRAIN, "--set", "epochs=2", "--out", str(model)], rng)
    longest = TORCHRUN_LONGEST if launch is torchrun else LONGEST
    left, seed = kills, 0
    while left > 0:
        seed += 1
        arguments = [*CERTIFY, str(model), "--seed", str(seed), "--out"]
        quiet, killed = folder / f"quiet{seed}.jsonl", folder / f"killed{seed}.jsonl"
        survive(alone, [*arguments, str(quiet)], rng)
        hits = survive(launch, [*arguments, str(killed)], rng, left, longest)
        left -= hits
        parts, expected = [read_certification(file) for file in files_of(killed)], certificates(read_whole(quiet))
        same = sum(len(part.rows) for part in parts) == len(expected) and certificates(read_whole(killed)) == expected
        survive(alone, ["merge", str(killed)], rng)
        same = same and files_of(killed) == [killed] and certificates(read_certification(killed)) == expected
        same = same and all(read_certification(log).closing is not None for log in (quiet, killed))
        shares = " + ".join(str(len(part.rows)) for part in parts)
        print(f"certification {seed}: {hits} kills, {shares} images, {'each once' if same else 'NOT EACH ONCE'}")
        if not same:
            raise SystemExit(1)


def certificates(log: CertificationLog) -> dict[int, dict[str, Any]]:
    return {row["index"]: {key: value for key, value in row.items() if key != "seconds"} for row in log.rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("training", "certification", "torchrun"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as place:
        folder, begun = Path(place), time.monotonic()
        if args.only in (None, "training"):
            training(folder, args.kills, rng)
        if args.only in (None, "certification"):
            certification(folder, args.kills, rng, two)
        if args.only in (None, "torchrun"):
            (folder / "torchrun").mkdir()
            certification(folder / "torchrun", max(1, args.kills // 10), rng, torchrun)
        print(f"survived, in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
