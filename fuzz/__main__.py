"""python -m fuzz: many hostile and broken inputs for every reader; a table, and the finds as files.

Deterministic: input i of a reader is a function of (--seed, reader, i). Every reader runs in a process of its own, so
that one that is killed or crashes is a find and not the end. Exits with 1 if there was a find.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from fuzz.readers import READERS, Reader
from fuzz.watch import Outcome, watched
from smoothcert.errors import InputError

CORPUS = Path(__file__).parents[1] / "tests" / "fuzz_corpus"
LARGEST = 20_000  # bytes of a file that is kept as a test


@dataclass
class Tally:
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0
    seconds: float = 0.0
    finds: dict[str, str] = field(default_factory=dict)
    """what went wrong → the input and the traceback"""


def make_input(reader: Reader, seed: int, i: int) -> bytes:
    """The seeds and the hostile files as they are come first, then mutations of both."""
    whole = [*reader.seeds, *reader.hostile]
    if i < len(whole):
        return whole[i]
    rng = random.Random(f"{seed}/{reader.name}/{i}")
    base = rng.choice(reader.seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        try:
            base = rng.choice(reader.mutations)(rng, base, reader.seeds)
        except Exception:  # a mutation that needs structure met one that had destroyed it
            break
    return base


def run(reader: Reader, seed: int, first: int, last: int, folder: Path, tally: Tally, seconds: float) -> None:
    """Inputs first … last − 1; what is found goes into `tally` and, if small, into the corpus."""
    smallest: dict[str, bytes] = {}
    warm_up(reader, folder)
    for i in range(first, last):
        data = make_input(reader, seed, i)
        (folder / "progress").write_text(str(i))
        outcome = watch_one(reader, data, folder, seconds)
        tally.inputs += 1
        tally.accepted += outcome.accepted and not outcome.find
        tally.refused += not outcome.accepted and not outcome.find
        tally.slowest = max(tally.slowest, outcome.seconds)
        tally.seconds += outcome.seconds
        if outcome.find and len(data) < len(smallest.get(outcome.find, data + b"x")):
            smallest[outcome.find] = data
            tally.finds[outcome.find] = f"input {i}, {len(data)} bytes\n{outcome.details}"
    for find, data in smallest.items():
        keep(reader, find, minimized(reader, data, find, folder, seconds))


def warm_up(reader: Reader, folder: Path) -> None:
    """What it imports is not the doing of its first input."""
    with tempfile.TemporaryDirectory(dir=folder) as name, contextlib.suppress(InputError):
        path = Path(name) / f"input{reader.suffix}"
        path.write_bytes(reader.seeds[0])
        reader.read(path)


def watch_one(reader: Reader, data: bytes, folder: Path, seconds: float) -> Outcome:
    """In a folder of its own that is empty but for the input: a reader may look beside it."""
    own = folder / "own"
    own.mkdir(exist_ok=True)
    for left in own.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    path = own / f"input{reader.suffix}"
    path.write_bytes(data)
    return watched(reader.read, path, seconds, reader.resident)


def minimized(reader: Reader, data: bytes, find: str, folder: Path, seconds: float) -> bytes:
    """Blocks are left out as long as the find stays the same, and no longer than ten seconds."""
    end, size = time.monotonic() + 10, len(data) // 2
    while size and time.monotonic() < end and not find.startswith(("slow", "resident", "memory")):
        at = 0
        while at < len(data) and time.monotonic() < end:
            shorter = data[:at] + data[at + size :]
            if watch_one(reader, shorter, folder, seconds).find == find:
                data = shorter
            else:
                at += size
        size //= 2
    return data


def keep(reader: Reader, find: str, data: bytes) -> None:
    if len(data) <= LARGEST:
        (CORPUS / reader.name).mkdir(parents=True, exist_ok=True)
        (CORPUS / reader.name / f"{find}-{hashlib.sha256(data).hexdigest()[:8]}").write_bytes(data)


def run_apart(reader: Reader, seed: int, inputs: int, seconds: float) -> Tally:
    """`run` in child processes: one that dies is a find, and the next goes on behind its input."""
    total, first = Tally(), 0
    while first < inputs:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            child = os.fork()
            if child == 0:
                tally = Tally()
                try:
                    run(reader, seed, first, inputs, folder, tally, seconds)
                    (folder / "tally").write_text(json.dumps(asdict(tally)))
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)
            _, status = os.waitpid(child, 0)
            if (folder / "tally").exists():
                part = Tally(**json.loads((folder / "tally").read_text()))
                first = inputs
            else:
                last = int((folder / "progress").read_text())
                part = Tally(last + 1 - first, finds={f"died-{last}": f"input {last}, wait status {status}"})
                keep(reader, "died", make_input(reader, seed, last))
                first = last + 1
        for name in ("inputs", "accepted", "refused", "seconds"):
            setattr(total, name, getattr(total, name) + getattr(part, name))
        total.slowest = max(total.slowest, part.slowest)
        total.finds |= part.finds
    return total


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="over all readers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="readers by name")
    parser.add_argument("--seconds", type=float, default=5.0, help="that one input may take")
    given = parser.parse_args()
    torch.set_num_threads(1)
    readers = [reader for reader in READERS if not given.only or reader.name in given.only]
    if not readers:
        sys.exit(f"there are {', '.join(reader.name for reader in READERS)}")
    shares = sum(reader.share for reader in readers)
    print(f"{'reader':<16}{'inputs':>8}{'accepted':>10}{'refused':>9}{'finds':>7}{'slowest':>10}{'inputs/s':>10}")
    everything, found = Tally(), []
    for reader in readers:
        tally = run_apart(reader, given.seed, -int(-given.inputs * reader.share // shares), given.seconds)
        print_row(reader.name, tally)
        for name in ("inputs", "accepted", "refused", "seconds"):
            setattr(everything, name, getattr(everything, name) + getattr(tally, name))
        everything.slowest = max(everything.slowest, tally.slowest)
        everything.finds |= {f"{reader.name}/{find}": text for find, text in tally.finds.items()}
        found += [f"{reader.name}: {find}: {text}" for find, text in tally.finds.items()]
    print_row("all", everything)
    for text in found:
        print(f"\n{text}")
    sys.exit(1 if found else 0)


def print_row(name: str, t: Tally) -> None:
    rate = t.inputs / t.seconds if t.seconds else 0
    cells = f"{t.inputs:>8}{t.accepted:>10}{t.refused:>9}{len(t.finds):>7}{t.slowest:>8.2f} s{rate:>10,.0f}"
    print(f"{name:<16}{cells}", flush=True)


if __name__ == "__main__":
    main()
