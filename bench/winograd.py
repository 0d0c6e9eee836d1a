"""Training steps and votes in float32 with our 3×3 convolutions and with torch's, in turns, beside the machine's limit.

    python bench/winograd.py [--network cifar_wide photo_wide] [--turns 9] [--out FILE.json]

One thread; milliseconds of its processor time for an image of a forward-backward pass and for a vote, and the median
over turns of the ratio within a turn. `limit` is the time that all multiplications of direct convolutions would take at
the speed of a large product of matrices, measured in the same turns: to be faster than that is what fewer
multiplications are for.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import torch

from limit import operations, products
from passes import NETWORKS, training, voting
from smoothcert import models
from smoothcert.machine.heap import keep_freed_memory
from smoothcert.models import winograd

WAYS = {"ours": winograd._FEWEST_PRODUCTS, "torch": 2**60}  # the fewest products for which ours is taken


def seconds(step: Callable[[], object]) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def measure(name: str, turns: int) -> dict[str, object]:
    shape, num_classes, batch, votes = NETWORKS[name]
    torch.manual_seed(0)
    f = models.build(name, num_classes).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    product, in_product = products(torch.float32)["matrices"]
    in_vote = operations(f, shape)
    work = {
        "pass": (training(f, shape, num_classes, batch), batch, 3 * in_vote),
        "vote": (voting(f, shape, num_classes, votes), votes, in_vote),
    }
    row: dict[str, object] = {"network": name}
    for what, (step, images, of_an_image) in work.items():
        taken: dict[str, list[float]] = {way: [] for way in (*WAYS, "limit")}
        for turn in range(turns + 1):
            for way in list(WAYS)[:: 1 if turn % 2 else -1]:
                with mock.patch.object(winograd, "_FEWEST_PRODUCTS", WAYS[way]):
                    taken[way].append(seconds(step) / images)
            taken["limit"].append(seconds(product) / in_product * of_an_image)
        taken = {way: times[1:] for way, times in taken.items()}  # the first turn allocates
        row[what] = {
            "milliseconds": {way: 1e3 * statistics.median(times) for way, times in taken.items()},
            "gain": statistics.median(t / o for t, o in zip(taken["torch"], taken["ours"], strict=True)),
        }
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", nargs="+", default=("cifar_wide", "photo_wide"))
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    rows = [measure(name, args.turns) for name in args.network]
    for row in rows:
        print(row)
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
