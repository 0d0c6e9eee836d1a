"""Training steps with freed memory kept by the process, as `smoothcert train` has it, and given back, as glibc has it.

    python bench/heap.py [--batch 16 64 128 256] [--turns 20] [--threads N] [--clock cpu] [--out FILE.json]

Consistency (m = 2) on LeNet with SGD. Two processes, since the setting cannot be taken back, take turns of ten steps;
the gain is the median over turns of the ratio within a turn. Faults are pages that the system had to clear, per step.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from smoothcert.machine.heap import keep_freed_memory
from smoothcert.models.lenet import LeNet
from smoothcert.recipes import RECIPES

STEPS = 10
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def step_of(batch: int) -> Callable[[], object]:
    f = LeNet().to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    objective, generator = RECIPES["mnist/consistency/0.50"].objective, torch.Generator().manual_seed(0)
    optimizer = torch.optim.SGD(f.parameters(), 0.01, 0.9)
    x, y = torch.rand(batch, 1, 28, 28), torch.arange(batch) % 10

    def step() -> None:
        optimizer.zero_grad()
        objective(f, x, y, generator).loss.backward()
        optimizer.step()

    return step


def child(kept: bool, batch: int, threads: int, clock: str, parent: Connection) -> None:
    """Answers every message with seconds and faults of ten steps."""
    torch.set_num_threads(threads)
    if kept:
        keep_freed_memory()
    step, now = step_of(batch), CLOCKS[clock]
    for _ in range(STEPS):
        step()
    while parent.recv():
        faults, start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, now()
        for _ in range(STEPS):
            step()
        seconds = now() - start
        parent.send((seconds / STEPS, (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults) / STEPS))


def measure(batch: int, turns: int, threads: int, clock: str) -> dict[str, object]:
    context, pipes, processes = multiprocessing.get_context("spawn"), {}, []
    for name in ("kept", "given back"):
        pipes[name], theirs = context.Pipe()
        processes.append(context.Process(target=child, args=(name == "kept", batch, threads, clock, theirs)))
        processes[-1].start()
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in pipes}
    for turn in range(turns):
        for name in list(pipes)[:: 1 if turn % 2 else -1]:
            pipes[name].send(True)
            taken[name].append(pipes[name].recv())
    for pipe, process in zip(pipes.values(), processes, strict=True):
        pipe.send(False)
        process.join()
    pairs = zip(taken["given back"], taken["kept"], strict=True)
    return {
        "batch": batch,
        "gain": statistics.median(back[0] / kept[0] for back, kept in pairs),
        "milliseconds": {name: 1e3 * statistics.median(s for s, _ in each) for name, each in taken.items()},
        "faults": {name: statistics.median(f for _, f in each) for name, each in taken.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, nargs="+", default=[16, 64, 128, 256])
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = [measure(batch, args.turns, args.threads, args.clock) for batch in args.batch]
    for row in rows:
        print(json.dumps(row))
    if args.out:
        args.out.write_text(json.dumps({"threads": args.threads, "clock": args.clock, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
