"""Training steps with an attack on LeNet, with its own convolution of grey images and with torch's.

    python bench/grey.py [--recipe NAME …] [--turns 20] [--threads N] [--out FILE.json]

Milliseconds of processor time for a batch of 32. The two take turns; the gain is the median over turns of the ratio
within a turn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import torch
from torch import nn

from smoothcert.machine.heap import keep_freed_memory
from smoothcert.models.lenet import LeNet
from smoothcert.recipes import find_recipe

RECIPES = ("mnist/smoothadv/0.50", "mnist/consistency-fast/1.00")


def lenets() -> dict[str, nn.Module]:
    ours, torchs = LeNet(), LeNet()
    torchs.conv1 = nn.Conv2d(1, 20, 5)
    return {name: f.to(memory_format=torch.channels_last) for name, f in (("ours", ours), ("torch", torchs))}  # type: ignore[call-overload]


def measure(name: str, turns: int) -> dict[str, object]:
    recipe, x, y = find_recipe(name), torch.rand(32, 1, 28, 28), torch.arange(32) % 10
    objective, networks = recipe.objective.at(recipe.epochs - 1), lenets()

    def seconds(f: nn.Module) -> float:
        start = time.process_time()
        objective(f, x, y).loss.backward()
        return time.process_time() - start

    for f in networks.values():
        seconds(f)  # the first step allocates
    taken: dict[str, list[float]] = {which: [] for which in networks}
    for turn in range(turns):
        for which in list(networks)[:: 1 if turn % 2 else -1]:
            taken[which].append(seconds(networks[which]))
    return {
        "recipe": name,
        "gain": statistics.median(t / o for t, o in zip(taken["torch"], taken["ours"], strict=True)),
        "milliseconds": {which: 1e3 * statistics.median(each) for which, each in taken.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", nargs="+", default=RECIPES)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    keep_freed_memory()
    rows = [measure(name, args.turns) for name in args.recipe]
    for row in rows:
        print(row)
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
