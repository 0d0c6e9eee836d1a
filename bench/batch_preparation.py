"""CIFAR-10 batch preparation (crop, flip, to float, noise) against what ResNet-20 training consumes.

    python bench/batch_preparation.py [--data DIR] [--rounds 8] [--threads 1] [--out FILE.json]     (about a minute)

Both are measured in turns within one run, so that whatever else the machine does slows both; medians over rounds.
Training is the cheapest there is: one noisy view, cross-entropy, plain SGD. Beside them crop and flip alone, and
the same an image at a time through Pillow, as the loaders of the ancestors do. Without --data the pixels are random;
the time is the same. The run fails if preparation is less than 5 times as fast as training.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor, nn

from smoothcert import data
from smoothcert.data import Dataset
from smoothcert.data.augment import Shifts
from smoothcert.files.environment import environment
from smoothcert.models import build
from smoothcert.noise import Gaussian
from smoothcert.noise.stream import generator_for

BATCH, PREPARED, WANTED = 256, 20, 5.0
CPU = torch.device("cpu")


def made_up() -> Dataset:
    rng = np.random.Generator(np.random.PCG64(0))
    pixels = rng.integers(0, 256, (50_000, 3, 32, 32), dtype=np.uint8)
    made = Dataset.of("random", "train", pixels, np.arange(50_000) % 10, 10)
    return replace(made, augmentation=Shifts())


def one_by_one(images: NDArray[np.uint8], draws: Tensor, padding: int = 4) -> Tensor:
    """The same crop and flip of images (B, H, W, C), an image at a time."""
    out = []
    for pixels, (top, left, flip) in zip(images, draws.tolist(), strict=True):
        image = ImageOps.expand(Image.fromarray(pixels), padding).crop((left, top, left + 32, top + 32))
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flip else image
        out.append(torch.from_numpy(np.array(image)).permute(2, 0, 1).float().div(255))
    return torch.stack(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    train_set = data.load("cifar10", "train", options.data) if options.data else made_up()
    assert isinstance(train_set, Dataset)
    noise = Gaussian(0.5)
    f = build("cifar_resnet20", 10).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(f.parameters(), 0.1, 0.9, weight_decay=1e-4, nesterov=True)
    order = torch.randperm(len(train_set), generator=generator_for(CPU, 0)).split(BATCH)

    draws = Shifts().draw(len(train_set), (0, 0))
    rows = train_set.images.permute(0, 2, 3, 1).contiguous().numpy()
    expected = one_by_one(rows[order[0]], draws[order[0]])
    if not torch.equal(expected, next(train_set.batches(order, (0, 0)))[0]):
        raise SystemExit("both ways of preparing a batch must give the same batch")

    def prepare(epoch: int, with_noise: bool) -> None:
        generator = generator_for(CPU, 0, epoch)
        for x, _ in train_set.batches(order[:PREPARED], (0, epoch)):
            if with_noise:
                x += noise.sample_like(x, generator)

    def train(x: Tensor, y: Tensor) -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(f(x), y).backward()
        optimizer.step()

    x, y = next(train_set.batches(order, (0, 0)))
    x = x.contiguous(memory_format=torch.channels_last)
    work: dict[str, tuple[int, Callable[[int], object]]] = {  # batches, and what is done to them
        "prepared": (PREPARED, lambda epoch: prepare(epoch, with_noise=True)),
        "cropped_and_flipped": (PREPARED, lambda epoch: prepare(epoch, with_noise=False)),
        "one_by_one": (1, lambda epoch: one_by_one(rows[order[epoch]], draws[order[epoch]])),
        "trained": (1, lambda epoch: train(x, y)),
    }
    rates: dict[str, list[float]] = {name: [] for name in work}
    for epoch in range(options.rounds + 1):
        for name, (batches, action) in work.items():
            start = time.perf_counter()
            action(epoch)
            rates[name].append(batches * BATCH / (time.perf_counter() - start))
    rates = {name: values[1:] for name, values in rates.items()}  # the first round warms up
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratio = medians["prepared"] / medians["trained"]
    result = {
        "images_per_second": {name: round(value, 1) for name, value in medians.items()},
        "prepared_over_trained": round(ratio, 1),
        "cropped_and_flipped_over_one_by_one": round(medians["cropped_and_flipped"] / medians["one_by_one"], 1),
        "worst_round": round(min(p / t for p, t in zip(rates["prepared"], rates["trained"], strict=True)), 1),
        "data": train_set.name,
        "batch": BATCH,
        "rounds": options.rounds,
        "threads": options.threads,
        "environment": environment(),
    }
    text = json.dumps(result, indent=2)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")
    if ratio < WANTED:
        raise SystemExit(f"preparation is only {ratio:.1f} times as fast as training, {WANTED:g} are wanted")


if __name__ == "__main__":
    main()
