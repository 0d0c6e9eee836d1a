"""Time of a training step for each method: ours, the bare minimum, and a loop as commonly written.

    python bench/train_step.py [--batch 256] [--seconds 90] [--threads N] [--clock cpu] [--out FILE.json]

A step is all from a batch of images to gradients in the weights; the optimiser is left out of all three.
  bare    the same number of forward and backward passes of the same LeNet, in the same mode, at the same number of
          inputs, with nothing else: no noise, no loss, no attack step. Inputs and output gradients lie ready.
  ours    `objective(f, x, y, generator).loss.backward()`, objectives of the recipes mnist5k/methods/…
  naive   contiguous NCHW, Python lists of m tensors, `.item()` every step.
The three take turns, each in another order than before, so that a busy machine slows them alike; "× bare" is the median
over turns of the ratio within a turn, "quiet" the ratio of the lower quartiles. Where others use the machine,
`--threads 1 --clock cpu` counts the time this process had.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from naive_step import naive_step
from smoothcert.models.lenet import LeNet
from smoothcert.objectives import Objective
from smoothcert.recipes import RECIPES

PREFIX = "mnist5k/methods/"
LIMIT = 1.1
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
Step = Callable[[], object]


@dataclass
class Row:
    """Seconds of each variant, turn by turn."""

    method: str
    objective: Objective
    steps: dict[str, Step]
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"bare": [], "ours": [], "naive": []})

    def ratio(self, above: str, below: str) -> float:
        pairs = zip(self.seconds[above], self.seconds[below], strict=True)
        return statistics.median(a / b for a, b in pairs)

    def quiet_ratio(self, above: str, below: str) -> float:
        quartiles = [sorted(self.seconds[name])[len(self.seconds[name]) // 4] for name in (above, below)]
        return quartiles[0] / quartiles[1]

    def turn(self, clock: Callable[[], float]) -> None:
        names = list(self.steps)
        done = len(self.seconds["bare"])
        for name in names[done % 3 :] + names[: done % 3]:
            start = clock()
            self.steps[name]()
            self.seconds[name].append(clock() - start)

    def milliseconds(self, variant: str) -> float:
        return 1e3 * statistics.median(self.seconds[variant])


def network(memory_format: torch.memory_format) -> LeNet:
    torch.manual_seed(0)
    return LeNet().to(memory_format=memory_format).train()  # type: ignore[call-overload]


def forget(f: LeNet) -> None:
    for p in f.parameters():
        p.grad = None


def bare(objective: Objective, batch: int) -> Step:
    """The passes alone: T to the inputs of a frozen network in eval mode, one to its weights (two with x itself)."""
    trained, attacked = network(torch.channels_last), network(torch.channels_last).eval().requires_grad_(False)
    views = torch.rand((int(objective.wants_clean) + objective.m) * batch, 1, 28, 28)
    noisy = views[: objective.attacked_views * batch].clone().requires_grad_()
    parts = views.split([batch, objective.m * batch]) if objective.wants_clean else (views,)
    slope, slope_noisy = torch.randn(len(views), 10), torch.randn(len(noisy), 10)
    passes = getattr(objective.attack, "steps", 0)

    def step() -> None:
        forget(trained)
        for _ in range(passes):
            torch.autograd.grad(attacked(noisy), noisy, slope_noisy)
        torch.cat([trained(part) for part in parts]).backward(slope)

    return step


def ours(objective: Objective, x: Tensor, y: Tensor) -> Step:
    f, generator = network(torch.channels_last), torch.Generator().manual_seed(0)

    def step() -> None:
        forget(f)
        objective(f, x, y, generator).loss.backward()

    return step


def naive(objective: Objective, x: Tensor, y: Tensor) -> Step:
    f, log = network(torch.contiguous_format), list[float]()

    def step() -> None:
        forget(f)
        naive_step(objective, f, x, y, log)

    return step


def measure(rows: list[Row], seconds: float, clock: Callable[[], float], least: int = 3) -> None:
    """At least `least` turns of every method, then more until the time is up: of the shortest first."""
    for row in rows:
        for step in row.steps.values():
            step()  # first calls allocate and choose kernels
    end = time.perf_counter() + seconds
    while True:
        row = min(rows, key=lambda row: sum(row.seconds["bare"]) if len(row.seconds["bare"]) >= least else -1)
        if time.perf_counter() > end and len(row.seconds["bare"]) >= least:
            return
        row.turn(clock)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--only", default="", help="methods whose name contains this")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    x, y = torch.rand(args.batch, 1, 28, 28), torch.arange(args.batch) % 10
    rows = []
    for name, recipe in RECIPES.items():
        method = name.removeprefix(PREFIX).rpartition("/")[0]
        if name.startswith(PREFIX) and args.only in method:
            o = recipe.objective.at(recipe.epochs)
            steps = {"bare": bare(o, args.batch), "ours": ours(o, x, y), "naive": naive(o, x, y)}
            rows.append(Row(method, o, steps))
    measure(rows, args.seconds, CLOCKS[args.clock])
    print(f"{'method':24}{'m':>3}{'T':>3}{'bare ms':>10}{'ours ms':>10}{'naive ms':>10}", end="")
    print(f"{'× bare':>9}{'quiet':>8}{'naive/ours':>12}{'turns':>7}")
    for row in rows:
        times = "".join(f"{row.milliseconds(v):10.1f}" for v in ("bare", "ours", "naive"))
        ratios = f"{row.ratio('ours', 'bare'):9.3f}{row.quiet_ratio('ours', 'bare'):8.3f}"
        passes, turns = getattr(row.objective.attack, "steps", 0), len(row.seconds["bare"])
        print(f"{row.method:24}{row.objective.m:3}{passes:3}{times}{ratios}{row.ratio('naive', 'ours'):12.2f}{turns:7}")
    worst = max(rows, key=lambda row: row.ratio("ours", "bare"))
    print(f"worst {worst.ratio('ours', 'bare'):.3f} × bare ({worst.method}), limit {LIMIT}")
    if args.out:
        report = {
            "what": "seconds per training step, optimiser excluded",
            "batch": args.batch,
            "threads": args.threads,
            "clock": args.clock,
            "torch": torch.__version__,
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}",
            "methods": {
                row.method: {
                    "m": row.objective.m,
                    "over_bare": row.ratio("ours", "bare"),
                    "quiet_over_bare": row.quiet_ratio("ours", "bare"),
                    "naive_over_ours": row.ratio("naive", "ours"),
                    "seconds": row.seconds,
                }
                for row in rows
            },
        }
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
