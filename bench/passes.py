"""Milliseconds of one core for a forward-backward pass and for a vote, by network: what recipes/estimate.py uses.

    python bench/passes.py [--seconds 10] [--only NAME]

The pass is that of a Gaussian training step on the batch given below, the optimiser left out; the vote is the engine's,
with noise, argmax and counting. One thread, and the time this process had, so that others may use the machine. The
median over repetitions.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from smoothcert import models
from smoothcert.machine.heap import keep_freed_memory
from smoothcert.noise import Gaussian
from smoothcert.objectives import Objective
from smoothcert.objectives.cross_entropy import CrossEntropy
from smoothcert.smoothed.classifier import SmoothedClassifier

MNIST, CIFAR10, IMAGENET = (1, 28, 28), (3, 32, 32), (3, 224, 224)
NETWORKS = {  # shape of an image, classes, images of a batch, votes at a time
    "lenet": (MNIST, 10, 256, 4000),
    "cifar_resnet20": (CIFAR10, 10, 128, 400),
    "cifar_densenet40": (CIFAR10, 10, 64, 100),
    "cifar_wide": (CIFAR10, 10, 64, 200),
    "cifar_resnet110": (CIFAR10, 10, 64, 100),
    "imagenet_resnet50": (IMAGENET, 1000, 4, 10),
    "photo_wide": (IMAGENET, 10, 16, 40),
}


def training(f: nn.Module, shape: tuple[int, ...], num_classes: int, batch: int) -> Callable[[], object]:
    x, y = torch.rand(batch, *shape), torch.arange(batch) % num_classes
    objective, generator = Objective(Gaussian(0.5), (CrossEntropy(),)), torch.Generator().manual_seed(0)
    f.train()
    return lambda: objective(f, x, y, generator).loss.backward()


def voting(f: nn.Module, shape: tuple[int, ...], num_classes: int, votes: int) -> Callable[[], object]:
    g, x = SmoothedClassifier(f.eval(), Gaussian(0.5), num_classes), torch.rand(shape)
    return lambda: g.votes(x, votes)


def milliseconds(step: Callable[[], object], count: int, seconds: float) -> float:
    """For each of `count` images or votes of a step."""
    step()  # the first call allocates and chooses kernels
    spent: list[float] = []
    while sum(spent) < seconds or len(spent) < 3:
        start = time.process_time()
        step()
        spent.append(time.process_time() - start)
    return 1e3 * statistics.median(spent) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", default="", help="networks whose name contains this")
    args = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    print(f"{'network':20}{'pass, ms':>12}{'vote, ms':>12}")
    for name, (shape, num_classes, batch, votes) in NETWORKS.items():
        if args.only in name:
            torch.manual_seed(0)
            f = models.build(name, num_classes).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            trained = milliseconds(training(f, shape, num_classes, batch), batch, args.seconds)
            voted = milliseconds(voting(f, shape, num_classes, votes), votes, args.seconds)
            print(f"{name:20}{trained:12.3g}{voted:12.3g}", flush=True)


if __name__ == "__main__":
    main()
