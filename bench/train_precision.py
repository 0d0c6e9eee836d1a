"""A training step in float32 and in bfloat16, as a share of the machine's arithmetic.

    python bench/train_precision.py [--batch 256] [--seconds 300] [--threads N] [--clock cpu] [--only NAME] [--out JSON]

A step is Consistency (m = 2) from a batch of images to changed weights, by SGD with Nesterov momentum: noise, forward
and backward passes of 2 · batch views, loss, optimiser. On the wide network also with Muon for the filters and an
average of weights. All variants and the machine's best product of matrices and 3×3 convolution take turns; a ratio is
the median over turns of the ratio within a turn. The work of a step is three times a forward pass's multiplications.
Where others use the machine, `--threads 1 --clock cpu` counts the time this process had.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from peak import TYPES, multiplications, products
from smoothcert.machine.heap import keep_freed_memory
from smoothcert.models import build
from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective
from smoothcert.recipes import LinearDecay, Muon, Recipe
from smoothcert.training.learner import Learner

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
PLAIN = Recipe(
    "none",
    "lenet",
    Objective(Gaussian(0.5), (CrossEntropy(), Consistency(10.0)), m=2),
    epochs=1,
    lr=0.01,
    schedule=LinearDecay(),
)
RECIPES = {
    "LeNet": PLAIN,
    "ResNet-20": replace(PLAIN, model="cifar_resnet20"),
    "ResNet-110": replace(PLAIN, model="cifar_resnet110"),
    "wide": replace(PLAIN, model="cifar_wide"),
    "wide, Muon, average": replace(PLAIN, model="cifar_wide", muon=Muon(0.1), ema=0.999),
}
Seconds = dict[str, list[float]]


def step_of(recipe: Recipe, batch: int) -> tuple[Callable[[], object], float]:
    """A call that makes one step, and its GFLOP."""
    torch.manual_seed(0)
    f = build(recipe.model, 10).to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    x, y = torch.rand(batch, *f.input_shape), torch.arange(batch) % 10
    learner, generator = Learner(recipe, f), torch.Generator().manual_seed(0)

    def step() -> None:
        f.zero_grad()
        recipe.objective(learner.trained, x, y, generator).loss.backward()
        learner.step(0.1)

    return step, 6e-9 * multiplications(f, f.input_shape) * recipe.objective.m * batch


def measure(calls: dict[str, Callable[[], object]], seconds: float, clock: Callable[[], float], least: int) -> Seconds:
    """Turns of all calls, each turn in another order, until the time is up."""
    for call in calls.values():
        call()  # first calls allocate and choose kernels
    found: Seconds = {name: [] for name in calls}
    names, end = list(calls), time.perf_counter() + seconds
    for turn in range(10**9):
        if turn >= least and time.perf_counter() > end:
            break
        cut = turn % len(names)
        for name in names[cut:] + names[:cut]:
            start = clock()
            calls[name]()
            found[name].append(clock() - start)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=300, help="for each network")
    parser.add_argument("--turns", type=int, default=3, help="at least")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(args.threads)
    best = {(p, name): call for p in TYPES for name, call in products(p).items()}
    report: dict[str, dict[str, object]] = {}
    print("| network | float32, ms | bfloat16, ms | speed-up | GFLOP/s | of the best, float32 | bfloat16 | turns |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for network, recipe in RECIPES.items():
        if args.only not in network:
            continue
        steps = {p: step_of(replace(recipe, precision=p), args.batch) for p in TYPES}
        work = steps["float32"][1]
        calls = {p: call for p, (call, _) in steps.items()} | {f"{p} {n}": c for (p, n), (c, _) in best.items()}
        took = measure(calls, args.seconds, CLOCKS[args.clock], args.turns)
        turns = range(len(took["float32"]))
        ratio = statistics.median(took["float32"][t] / took["bfloat16"][t] for t in turns)
        rates = {p: statistics.median(work / s for s in took[p]) for p in TYPES}
        limits = {
            p: [max(gflop / took[f"{q} {n}"][t] for (q, n), (_, gflop) in best.items() if q == p) for t in turns]
            for p in TYPES
        }
        shares = {p: statistics.median(work / took[p][t] / limits[p][t] for t in turns) for p in TYPES}
        ms = [1e3 * statistics.median(took[p]) for p in TYPES]
        gflops = f"{rates['float32']:.0f}, {rates['bfloat16']:.0f}"
        print(
            f"| {network} | {ms[0]:.0f} | {ms[1]:.0f} | {ratio:.2f} | {gflops} | {shares['float32']:.2f} "
            f"| {shares['bfloat16']:.2f} | {len(turns)} |",
            flush=True,
        )
        report[network] = {
            "speed_up": ratio,
            "gflops": rates,
            "share_of_best": shares,
            "best_gflops": {p: statistics.median(limits[p]) for p in TYPES},
            "gflop_per_step": work,
            "seconds": took,
        }
    found = next(iter(report.values()))["best_gflops"] if report else {}
    print(f"\nbest product: {found} GFLOP/s, {args.threads} threads, {args.clock} clock")
    if args.out:
        about = {
            "what": "Consistency, m = 2: seconds per training step, optimiser included",
            "batch": args.batch,
            "threads": args.threads,
            "clock": args.clock,
            "torch": torch.__version__,
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}",
            "networks": report,
        }
        args.out.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
