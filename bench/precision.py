"""Does a certificate move when f computes in bfloat16? The same noise through both networks, image by image.

    python bench/precision.py RUN [--data FOLDER] [--n 10000] [--images 200] [--out FILE.json]     (minutes)

Every noisy copy is classified by the run's network in float32 and in bfloat16, and votes for the pair of answers: the
margins of that table are the votes of either network, and what is off its diagonal is the votes that differ. ACR, its
paired difference with a 95 % interval (Student's t over images), certified accuracies.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor
from torch.nn.functional import one_hot

from smoothcert.certification.target import open_target
from smoothcert.data import load
from smoothcert.models import Frozen
from smoothcert.procedures.certificate import Certificate, certify
from smoothcert.smoothed.votes import Request, Voter, Votes

CPU = torch.device("cpu")


class Both:
    """x → one of K² classes: the answer in float32 times K plus the answer in bfloat16."""

    concurrent = True

    def __init__(self, exact: Frozen, rounded: Frozen, classes: int) -> None:
        self.exact, self.rounded, self.classes = exact, rounded, classes
        self.memory_format = exact.memory_format

    def __call__(self, x: Tensor) -> Tensor:
        pair = self.exact(x).argmax(1) * self.classes + self.rounded(x).argmax(1)
        return one_hot(pair, self.classes**2).float()


def measure(run: Path, data: Path | None, n: int, n0: int, images: int, alpha: float) -> dict[str, Any]:
    targets = [open_target(run, device="cpu", precision=p) for p in ("float32", "bfloat16")]
    target, k = targets[0], targets[0].num_classes
    both = Both(*(t.f for t in targets), k)  # type: ignore[arg-type]
    voter = Voter(both, target.noise, k * k, memory_format=both.memory_format)
    test_set = load(str(target.data), "test", data)
    chosen = range(0, len(test_set), len(test_set) // images)[:images]
    radii: list[list[float]] = []
    other_class, differ = 0, 0
    for index in chosen:
        x, y = test_set.batch(torch.tensor([index]))
        asked = [Request(x[0], index, "selection", 0, n0), Request(x[0], index, "estimation", 0, n)]
        tables = voter.count(asked).reshape(2, k, k)
        differ += n - int(np.trace(tables[1]))
        certificates = [_certificate(tables, axis, target.noise, alpha) for axis in (1, 0)]
        other_class += certificates[0].label != certificates[1].label
        radii.append([c.radius if c.label == int(y[0]) else -1.0 for c in certificates])
    found = np.array(radii)
    gap = np.maximum(found, 0) @ [-1.0, 1.0]
    half = float(stats.t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / len(gap) ** 0.5)
    return {
        "run": run.name, "images": len(chosen), "n": n, "n0": n0, "alpha": alpha,
        "variants": [t.about["model"]["variant"] for t in targets],
        "acr": np.maximum(found, 0).mean(0).tolist(),
        "acr_difference": [float(gap.mean() - half), float(gap.mean()), float(gap.mean() + half)],
        "largest_difference_of_a_radius": float(np.abs(gap).max()),
        "images_with_another_class": other_class,
        "votes_that_differ": differ / (n * len(chosen)),
        "certified_accuracy": {f"{r:g}": (found >= r).mean(0).tolist() for r in np.arange(0, 2, 0.25)},
    }  # fmt: skip


def _certificate(tables: Votes, summed: int, noise: Any, alpha: float) -> Certificate:
    selection, estimation = tables.sum(1 + summed)
    return certify(selection, estimation, noise, alpha)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--n0", type=int, default=100)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--alpha", type=float, default=0.001)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    report = measure(args.run, args.data, args.n, args.n0, args.images, args.alpha)
    print(json.dumps(report, indent=1))
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
