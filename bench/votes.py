"""Votes per second of the engine, and votes and images per second of every procedure on a trained network.

    python bench/votes.py [--run FOLDER] [--seconds 60] [--threads N] [--clock cpu] [--out FILE.json]     (minutes)

Speed, for each network, all with the same weights; the variants take turns within each round:
  limit    the best of a product of matrices and a 3×3 convolution of 256 channels, on every thread: what the machine
           can multiply, in float32 and in bfloat16. Votes are shown as a share of it
  bare     forward passes of the frozen network on inputs that lie ready. The best of a few batch sizes, of one pass on
           all threads and of one pass per thread, chosen beforehand
  engine   `Voter.count`: the same network, with noise, argmax, counting and the check for NaN
  common   the loop as usually written: repeat the image, randn_like, add, forward, count in Python; batch 1000;
           float32; LeNet as usually written too: convolution, relu, pooling
  ART      PyTorchRandomizedSmoothing of the Adversarial Robustness Toolbox, where it is installed; batch 1000
  grid     the engine under grid noise instead of float noise
limit, bare, engine and grid come twice, in float32 and in bfloat16. Ratios are medians over rounds of the ratio within
a round. Where others use the machine, `--threads 1 --clock cpu` counts the time this process had, over all its threads.

Procedures: a network is trained in half a minute (mnist5k, σ = 0.5) unless `--run` names one, and every 20th test
image certified by each procedure. Memory: peak of a fresh process after 10⁴ and after 10⁶ votes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from limit import machine, operations, products
from smoothcert import models
from smoothcert.certification.target import open_target
from smoothcert.data import load
from smoothcert.noise import Gaussian, GridGaussian
from smoothcert.procedures.procedure import build
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.drive import Image
from smoothcert.smoothed.votes import Request, Voter, in_parallel

NETWORKS = {"lenet": 16000, "cifar_resnet20": 3200, "cifar_resnet110": 800, "cifar_wide": 1600}  # votes in a round
WANTED = {  # bfloat16 engine over float32 engine, over common; float32 engine over bare
    "lenet": (1.65, 6.0, 0.9),
    "cifar_resnet20": (1.65, 4.4, 0.9),
    "cifar_resnet110": (1.65, 2.7, 0.95),
}
BATCHES = (50, 100, 200, 400)
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
PROCEDURES: dict[str, dict[str, Any]] = {
    "paper": {},
    "curve": {},
    "curve, label-aware": {"label_aware": True},
    "adaptive": {},
    "adaptive, label-aware": {"label_aware": True},
    "curve, pair bound": {"bound": "pair"},
    "curve, label-aware, pair": {"bound": "pair", "label_aware": True},
    "paper, pair bound": {"bound": "pair"},
    "adaptive, pair bound": {"bound": "pair"},
}
MEMORY = """
import resource, sys, torch
from smoothcert.noise import Gaussian
from smoothcert.smoothed.votes import Request, Voter
f = lambda x: x.flatten(1)[:, :2]
Voter(f, Gaussian(1.0), 2).count([Request(torch.zeros(1, 8, 8), 0, "estimation", 0, int(sys.argv[1]))])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


def bare(f: Callable[[Tensor], Tensor], shape: tuple[int, ...], votes: int) -> dict[str, Callable[[], object]]:
    """One entry per batch size and way; the best of them takes part."""

    def passes(x: Tensor, workers: int) -> Callable[[], object]:
        def run(_worker: int) -> None:
            for _ in range(votes // workers // len(x)):
                f(x)

        def run_all() -> None:
            with torch.inference_mode():
                in_parallel(run, workers, lambda: None)

        return run_all

    ways = {"all": 1, "each": torch.get_num_threads()}
    ready = {size: torch.rand(size, *shape).contiguous(memory_format=torch.channels_last) for size in BATCHES}
    fits = {(size, way) for size in BATCHES for way in ways if votes % (size * ways[way]) == 0}
    return {f"{size} {way}": passes(ready[size], ways[way]) for size, way in sorted(fits)}


def fastest(ways: dict[str, Callable[[], object]], clock: Callable[[], float]) -> str:
    """Of the second turn; the first chooses kernels."""
    taken: dict[str, float] = {}
    for way, run in [*ways.items()] * 2:
        start = clock()
        run()
        taken[way] = clock() - start
    return min(taken, key=taken.__getitem__)


def plain(network: nn.Module, name: str) -> nn.Module:
    """The network as usually written, with the same weights."""
    if name != "lenet":
        return network
    conv1, conv2, fc1, fc2 = (network.get_submodule(layer) for layer in ("conv1", "conv2", "fc1", "fc2"))
    pooled = (conv1, nn.ReLU(), nn.MaxPool2d(2), conv2, nn.ReLU(), nn.MaxPool2d(2))
    return nn.Sequential(*pooled, nn.Flatten(), fc1, nn.ReLU(), fc2).eval()


def common(f: Callable[[Tensor], Tensor], x: Tensor, votes: int, sigma: float) -> Callable[[], object]:
    """The loop of most public code, from its description."""

    def run() -> None:
        with torch.no_grad():
            counts, left = np.zeros(10, dtype=int), votes
            while left > 0:
                size = min(1000, left)
                left -= size
                batch = x.repeat((size, 1, 1, 1))
                noise = torch.randn_like(batch) * sigma
                for label in f(batch + noise).argmax(1).numpy():
                    counts[label] += 1

    return run


def toolbox(f: Any, x: Tensor, votes: int, sigma: float) -> Callable[[], object] | None:
    try:
        from art.estimators.certification.randomized_smoothing import PyTorchRandomizedSmoothing
    except ImportError:
        return None
    shape = tuple(x.shape)
    g = PyTorchRandomizedSmoothing(f, torch.nn.CrossEntropyLoss(), shape, 10, scale=sigma, clip_values=None)
    image = x.numpy()[None]
    return lambda: g.certify(image, n=votes, batch_size=1000)


def speeds(name: str, seconds: float, clock: Callable[[], float]) -> dict[str, Any]:
    torch.manual_seed(0)
    network, votes = models.build(name, 10).eval(), NETWORKS[name]
    shape: tuple[int, ...] = tuple(network.input_shape)  # type: ignore[arg-type]
    x, work = torch.rand(shape), votes * operations(network, shape)
    variants: dict[str, Callable[[], object]] = {}
    flops: dict[str, float] = {}
    chosen: dict[str, str] = {}
    voters: dict[str, Voter] = {}
    for precision, dtype in PRECISIONS.items():
        f = models.frozen(network, precision)
        found = products(dtype)
        best = max(found, key=lambda kind: found[kind][1] / _least(found[kind][0], clock))
        way = fastest(bare(f, shape, max(BATCHES) * torch.get_num_threads()), clock)
        voter = voters[precision] = Voter(f, Gaussian(0.5), 10, memory_format=f.memory_format)
        voter.count([Request(x, 0, "warm-up", 0, 4000)])  # finds the batch size
        variants[f"limit {precision}"], flops[f"limit {precision}"] = found[best]
        variants[f"bare {precision}"] = bare(f, shape, votes)[way]
        variants[f"engine {precision}"] = partial(voter.count, [Request(x, 0, "estimation", 0, votes)])
        exact = Voter(f, GridGaussian(0.5), 10, memory_format=f.memory_format)
        exact.count([Request(x, 0, "warm-up", 0, 4000)])
        variants[f"grid {precision}"] = partial(exact.count, [Request(x, 0, "estimation", 0, votes)])
        flops |= {f"bare {precision}": work, f"engine {precision}": work}
        chosen |= {f"limit {precision}": best, f"bare {precision}": way}
    variants["common"] = common(plain(network, name), x, votes, 0.5)
    if (art := toolbox(plain(network, name), x, votes, 0.5)) is not None:
        variants["ART"] = art
    taken: dict[str, list[float]] = {variant: [] for variant in variants}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken["common"]) < 3:
        for variant, run in variants.items():
            start_of_run = clock()
            run()
            taken[variant].append(clock() - start_of_run)

    def ratio(fast: str, slow: str) -> float:
        return statistics.median(b / a for a, b in zip(taken[fast], taken[slow], strict=True))

    def share(variant: str) -> float:
        limit = f"limit {variant.split()[1]}"
        return ratio(variant, limit) * flops[variant] / flops[limit]

    median = {variant: statistics.median(times) for variant, times in taken.items()}
    return {
        "votes_per_second": {v: votes / median[v] for v in variants if not v.startswith("limit")},
        "gflops_of_limit": {p: flops[f"limit {p}"] / median[f"limit {p}"] / 1e9 for p in PRECISIONS},
        "mflop_per_vote": work / votes / 1e6,
        "share_of_limit": {v: share(v) for v in variants if v.startswith(("bare", "engine"))},
        "engine_over_bare": {p: ratio(f"engine {p}", f"bare {p}") for p in PRECISIONS},
        "engine_over_common": {p: ratio(f"engine {p}", "common") for p in PRECISIONS},
        "grid_over_engine": {p: ratio(f"grid {p}", f"engine {p}") for p in PRECISIONS},
        "bfloat16_over_float32": ratio("engine bfloat16", "engine float32"),
        "rounds": len(taken["common"]),
        "chosen": chosen | {f"engine {p}": v._size.now for p, v in voters.items() if v._size is not None},
    }


def _least(run: Callable[[], object], clock: Callable[[], float]) -> float:
    taken = []
    for _ in range(4):
        start = clock()
        run()
        taken.append(clock() - start)
    return min(taken)


def table(speed: dict[str, Any]) -> str:
    """The Markdown of docs/performance.md."""
    head = ("network", "f", "limit, GFLOP/s", "bare, votes/s", "engine", "share of limit", "engine / bare",
            "grid / engine", "common", "engine / common", "engine bf16 / f32", "rounds")  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|---|---" + "|---:" * (len(head) - 2) + "|"]
    for name, found in speed.items():
        for p in PRECISIONS:
            rate, both = found["votes_per_second"], p == "bfloat16"
            cells = [name, p, f"{found['gflops_of_limit'][p]:,.0f}", f"{rate[f'bare {p}']:,.0f}",
                     f"{rate[f'engine {p}']:,.0f}", f"{found['share_of_limit'][f'engine {p}']:.2f}",
                     f"{found['engine_over_bare'][p]:.2f}", f"{found['grid_over_engine'][p]:.3f}",
                     f"{rate['common']:,.0f}", f"{found['engine_over_common'][p]:.2f}",
                     f"{found['bfloat16_over_float32']:.2f}" if both else "", f"{found['rounds']}"]  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def trained(folder: Path) -> Path:
    command = ["train", "mnist5k/gaussian/0.50", "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "smoothcert", *command], check=True, stdout=subprocess.DEVNULL)
    return folder


def procedures(run: Path, n: int, every: int, clock: Callable[[], float], names: Sequence[str]) -> dict[str, Any]:
    target = open_target(run, device="cpu")
    test_set = load(str(target.data), "test", None)
    chosen = range(0, len(test_set), every)
    found = {}
    for name in names:
        options = PROCEDURES[name]
        procedure = build(name.partition(",")[0], target.noise, n=n, **options)
        g = SmoothedClassifier(target.f, target.noise, target.num_classes)
        x, y = test_set.batch(torch.tensor(list(chosen)))
        images = [Image(*each) for each in zip(x, chosen, y.tolist(), strict=True)]
        start = clock()
        certificates = {image.index: (c, c.label == image.label) for image, c, _ in g.certificates(procedure, images)}
        taken = clock() - start
        assert all(c.follows for c, _ in certificates.values())
        radii = np.array([c.radius if right else -1.0 for c, right in certificates.values()])
        found[name] = {
            "votes_per_image": float(np.mean([c.votes for c, _ in certificates.values()])),
            "images_per_second": len(chosen) / taken,
            "acr": None if procedure.floors_radii else float(np.maximum(radii, 0).mean()),
            "certified_accuracy": {f"{r:g}": float((radii >= r).mean()) for r in np.arange(0, 2, 0.25)},
        }
        acr = "–" if procedure.floors_radii else f"{found[name]['acr']:.3f}"
        accuracy = " ".join(f"{100 * share:5.1f}" for share in found[name]["certified_accuracy"].values())
        counted = f"{found[name]['votes_per_image']:12,.0f}{found[name]['images_per_second']:10.3f}"
        print(f"  {name:24}{counted}{acr:>8}  {accuracy}", flush=True)
    return {"n": n, "images": len(chosen), "found": found}


def memory(votes: int) -> int:
    return int(subprocess.run([sys.executable, "-c", MEMORY, str(votes)], check=True, capture_output=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="a trained run (else one is trained)")
    parser.add_argument("--n", type=int, default=10_000, help="votes of `paper`, with which the others compete")
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--procedures", nargs="+", choices=PROCEDURES, default=list(PROCEDURES))
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--seconds", type=float, default=20, help="for each network")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--only", choices=("speed", "procedures", "memory"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    clock = CLOCKS[args.clock]
    report: dict[str, Any] = {
        "torch": torch.__version__, "threads": args.threads, "clock": args.clock,
        "machine": machine() | {"cores": os.cpu_count(), "kind": platform.machine(), "load": os.getloadavg()[0]},
    }  # fmt: skip
    if args.only in (None, "speed"):
        has = report["machine"]["instructions"]
        print(f"instructions: {', '.join(has) or 'unknown'}; torch uses {report['machine']['torch_uses']}\n")
        report["speed"] = {}
        for name in args.networks:
            if name not in models.MODELS:
                print(f"{name}: not among the networks of this version: skipped\n", flush=True)
                continue
            report["speed"][name] = found = speeds(name, args.seconds, clock)
            wanted = "  (wanted: {} and {}, and float32 {} of bare)".format(*WANTED[name]) if name in WANTED else ""
            print(f"{name}: bfloat16 {found['bfloat16_over_float32']:.2f} × float32, "
                  f"{found['engine_over_common']['bfloat16']:.2f} × common; "
                  f"float32 {found['engine_over_bare']['float32']:.2f} of bare{wanted}", flush=True)  # fmt: skip
        print("\n" + table(report["speed"]))
    if args.only in (None, "procedures"):
        print(f"\n  {'procedure':24}{'votes/image':>12}{'images/s':>10}{'ACR':>8}  certified accuracy at 0, 0.25, …")
        with tempfile.TemporaryDirectory() as folder:
            run = args.run or trained(Path(folder) / "run")
            report["procedures"] = procedures(run, args.n, args.every, clock, args.procedures)
    if args.only in (None, "memory"):
        report["memory"] = peak = {str(votes): memory(votes) for votes in (10_000, 1_000_000)}
        print("\npeak memory: " + ", ".join(f"{int(v):,} votes {b / 2**20:.0f} MiB" for v, b in peak.items()))
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
