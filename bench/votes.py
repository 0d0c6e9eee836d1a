"""Votes per second of the engine, and votes and images per second of every procedure on a trained network.

    python bench/votes.py [--run FOLDER] [--seconds 60] [--threads N] [--clock cpu] [--out FILE.json]     (minutes)

Speed, for LeNet, ResNet-20 and ResNet-110, all with the same weights; the variants take turns within each round:
  bare     forward passes of the frozen network on inputs that lie ready: the limit. The best of a few batch sizes, of
           one pass on all threads and of one pass per thread
  engine   `Voter.count`: the same network, with noise, argmax, counting and the check for NaN
  common   the loop as usually written: repeat the image, randn_like, add, forward, count in Python; batch 1000;
           LeNet as usually written too: convolution, relu, pooling
  ART      PyTorchRandomizedSmoothing of the Adversarial Robustness Toolbox, where it is installed; batch 1000
Ratios are medians over rounds of the ratio within a round. Where others use the machine, `--threads 1 --clock cpu`
counts the time this process had, over all its threads.

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
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from smoothcert import models
from smoothcert.certification.target import open_target
from smoothcert.data import load
from smoothcert.noise import Gaussian
from smoothcert.procedures.procedure import build
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.drive import Image
from smoothcert.smoothed.votes import Request, Voter, in_parallel

NETWORKS = {"lenet": 8000, "cifar_resnet20": 1600, "cifar_resnet110": 400}  # votes in a round
LIMITS = {"lenet": (0.9, 2.5), "cifar_resnet20": (0.9, 2.0)}  # engine over bare, engine over common
BATCHES = (100, 200, 400)
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
    """One entry per batch size and way; the best of them is the limit."""

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
    return {f"bare {size} {way}": passes(ready[size], ways[way]) for size, way in sorted(fits)}


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
    network = models.build(name, 10).eval()
    f, votes = models.frozen(network), NETWORKS[name]
    shape = tuple(f.input_shape or ())
    x, voter = torch.rand(shape), Voter(f, Gaussian(0.5), 10, memory_format=f.memory_format)
    variants = bare(f, shape, votes)
    variants |= {
        "engine": lambda: voter.count([Request(x, 0, "estimation", 0, votes)]),
        "common": common(plain(network, name), x, votes, 0.5),
    }
    if (art := toolbox(plain(network, name), x, votes, 0.5)) is not None:
        variants["ART"] = art
    for run in variants.values():
        run()  # first calls choose kernels
    voter.count([Request(x, 0, "warm-up", 0, 8000 if votes >= 800 else votes)])  # and find the batch size
    taken: dict[str, list[float]] = {variant: [] for variant in variants}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken["engine"]) < 3:
        for variant, run in variants.items():
            start = clock()
            run()
            taken[variant].append(clock() - start)
    median = {variant: statistics.median(times) for variant, times in taken.items()}
    best = min((v for v in variants if v.startswith("bare")), key=median.__getitem__)
    rates = {v.split()[0]: votes / median[v] for v in variants if v == best or not v.startswith("bare")}

    def ratio(over: str) -> float:
        return statistics.median(b / a for a, b in zip(taken["engine"], taken[over], strict=True))

    size = voter._size.now if voter._size is not None else None
    return {"votes_per_second": rates, "over_bare": ratio(best), "over_common": ratio("common"),
            "rounds": len(taken["engine"]), "bare": best, "engine_batch": size}  # fmt: skip


def trained(folder: Path) -> Path:
    command = ["train", "mnist5k/gaussian/0.50", "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "smoothcert", *command], check=True, stdout=subprocess.DEVNULL)
    return folder


def procedures(run: Path, n: int, every: int, clock: Callable[[], float], names: Sequence[str]) -> dict[str, Any]:
    target = open_target(str(run), torch.device("cpu"))
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
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}",
    }  # fmt: skip
    if args.only in (None, "speed"):
        print(f"votes/s {'bare':>14}{'engine':>10}{'common':>10}{'ART':>10}   engine/bare  engine/common")
        report["speed"] = {}
        for name in args.networks:
            report["speed"][name] = found = speeds(name, args.seconds, clock)
            rates = [found["votes_per_second"].get(v) for v in ("bare", "engine", "common", "ART")]
            limit = "  (at least {} and {})".format(*LIMITS[name]) if name in LIMITS else ""
            print(f"{name:16}" + "".join(f"{'–' if r is None else format(r, ',.0f'):>10}" for r in rates)
                  + f"{found['over_bare']:12.2f}{found['over_common']:14.2f}{limit}", flush=True)  # fmt: skip
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
