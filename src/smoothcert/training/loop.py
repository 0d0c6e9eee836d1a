"""The epoch loop: no callbacks. It yields what happens, and whoever iterates may show it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from smoothcert import models
from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.models.weights import save_weights
from smoothcert.noise.stream import generator_for
from smoothcert.recipes import Recipe, to_dict
from smoothcert.records.environment import environment
from smoothcert.records.files import sole_owner
from smoothcert.records.run_folder import RunFolder
from smoothcert.training.checkpoint import Position, load_checkpoint, save_checkpoint
from smoothcert.training.cost import PHASES, Stopwatch, peak_memory
from smoothcert.training.log import write_log
from smoothcert.training.optimizer import optimizer_of
from smoothcert.training.team import Team

_SECONDS_BETWEEN_CHECKPOINTS = 10.0
_SHARE_OF_TIME_FOR_CHECKPOINTS = 0.05


@dataclass(frozen=True)
class Step:
    """One optimiser step was made."""

    epoch: int
    step: int
    steps: int
    images_per_second: float
    sums: dict[str, Tensor]
    """totals over the images of this epoch; reading them waits for the device"""


@dataclass(frozen=True)
class Epoch:
    """One epoch is finished and saved."""

    row: dict[str, Any]


def train(
    recipe: Recipe,
    folder: Path,
    train_set: ImageSet,
    test_set: ImageSet,
    device: torch.device,
    team: Team | None = None,
) -> Iterator[Step | Epoch]:
    """Train until the recipe's last epoch, going on from the folder's checkpoint; at the end write the model.

    Killed at any instant and called again it ends with the same weights, bit for bit on one kind of machine. In a team
    all processes call it; only the first reads and writes the folder. While it is iterated the folder is locked: a
    second caller gets InputError.
    """
    team = team or Team()
    with sole_owner(folder, "train") if team.place.first else contextlib.nullcontext():
        yield from _train(recipe, folder, train_set, test_set, device, team)


def _train(
    recipe: Recipe, folder: Path, train_set: ImageSet, test_set: ImageSet, device: torch.device, team: Team
) -> Iterator[Step | Epoch]:
    run, description, writes = RunFolder(folder), to_dict(recipe), team.place.first
    if writes:
        if run.cannot_go_on:
            raise InputError(
                f"{folder}: holds a training without its checkpoint: choose another --out, "
                f"or delete {run.training_log.name} and {run.model.name} to start again"
            )
        run.claim(description)
    f = team.adopt(build_network(recipe, train_set.num_classes).to(device))
    f = f.to(memory_format=getattr(f, "memory_format", torch.contiguous_format))  # type: ignore[call-overload]
    optimizer = optimizer_of(recipe, f)
    position = load_checkpoint(run.checkpoint, f, optimizer, description) if writes else Position()
    position = team.agree(f, optimizer, position)
    if writes and position.epoch < recipe.epochs:
        run.model.unlink(missing_ok=True)  # of no training that this folder still knows
    train_set, test_set = train_set.to(device), test_set.to(device)
    while position.epoch < recipe.epochs:
        yield from _rest_of_epoch(recipe, run, f, optimizer, train_set, position, team)
        _close_epoch(recipe, f, test_set, position, device)
        if writes:
            save_checkpoint(run.checkpoint, f, optimizer, position, description)
            write_log(run.training_log, position.history)
        yield Epoch(position.history[-1])
    if not writes:
        return
    write_log(run.training_log, position.history)
    if not run.model.exists():
        about = {
            "recipe": description,
            "model": recipe.model,
            "num_classes": train_set.num_classes,
            "normalization": recipe.normalization,
            "noise": to_dict(recipe.objective.noise),
            "dataset": recipe.data,
            "data_fingerprint": train_set.fingerprint,
            "environment": environment(),
        }
        save_weights(run.model, f.state_dict(), about)


def build_network(recipe: Recipe, num_classes: int) -> nn.Module:
    """The recipe's network with the initial weights of its seed; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(generator_for(torch.device("cpu"), recipe.seed, "init").get_state())
        return models.build(recipe.model, num_classes, recipe.normalization)


def _rest_of_epoch(
    recipe: Recipe, run: RunFolder, f: nn.Module, optimizer: Optimizer, data: ImageSet, position: Position, team: Team
) -> Iterator[Step]:
    """The steps from `position` to the end of its epoch."""
    device, epoch = data.labels.device, position.epoch
    objective = recipe.objective.at(epoch)
    steps = step_indices(recipe, len(data), epoch)
    sums = {name: torch.tensor(total, device=device) for name, total in position.sums.items()}
    stopwatch, pause = Stopwatch(device), _SECONDS_BETWEEN_CHECKPOINTS
    shares = [team.share(len(step)) for step in steps]
    mine = [step[share.start : share.stop] for step, share in zip(steps, shares, strict=True)]
    batches = data.batches(mine[position.step :], (recipe.seed, epoch))
    begun = saved = time.perf_counter()
    f.train()
    for step in range(position.step, len(steps)):
        clock = time.perf_counter()
        stopwatch.begin(step)
        x, y = next(batches)
        stopwatch.lap("data")
        generator = generator_for(device, recipe.seed, "train", epoch, step)
        share = shares[step]
        views = objective.views(f, x, y, generator, within=(share.start, share.total))
        stopwatch.lap("attack")
        for group in optimizer.param_groups:
            group["lr"] = recipe.lr * recipe.schedule.factor(epoch + step / len(steps), recipe.epochs)
        charges = objective.charge(f, views, y)
        optimizer.zero_grad()
        (charges.loss * share.weight).backward()
        team.add_gradients(f)
        optimizer.step()
        stopwatch.lap("descent")
        means = charges.terms | {"noisy_accuracy": (charges.logits.argmax(-1) == y).float().mean()}
        _add(sums, share.total, dict(zip(means, team.add(share.weight * _stacked(means)), strict=True)))
        position.step = step + 1
        now = time.perf_counter()
        if now - saved > pause or position.step == len(steps):
            position.sums = {name: float(total) for name, total in sums.items()}
            position.add_seconds(now - begun, stopwatch.seconds)
            begun, stopwatch = now, Stopwatch(device)
            refuse_divergence(position)
            if team.place.first and position.step < len(steps):  # the end of the epoch is saved by the caller
                save_checkpoint(run.checkpoint, f, optimizer, position, to_dict(recipe))
                begun = saved = time.perf_counter()
                pause = max(pause, (saved - now) / _SHARE_OF_TIME_FOR_CHECKPOINTS)
        yield Step(epoch, position.step, len(steps), share.total / (now - clock), sums)


def step_indices(recipe: Recipe, images: int, epoch: int) -> list[Tensor]:
    """The images of each optimiser step: a shuffled epoch in batches, each cut by m where the recipe says so."""
    used = images if recipe.fraction is None else max(1, round(recipe.fraction * images))
    order = torch.randperm(used, generator=generator_for(torch.device("cpu"), recipe.seed, "order", epoch))
    if used < images:
        order = order * images // used  # evenly spaced: a set may be sorted by class
    if not recipe.split_batch:
        return list(order.split(recipe.batch))
    # As the released code: m slices of ⌊batch / m⌋ images, and what is left of a batch is not seen in this epoch.
    m = recipe.objective.m
    return [part for batch in order.split(recipe.batch) if len(batch) >= m for part in _cut(batch, m)]


def _cut(batch: Tensor, m: int) -> tuple[Tensor, ...]:
    return batch[: len(batch) // m * m].chunk(m)


def _stacked(means: dict[str, Tensor]) -> Tensor:
    return torch.stack([mean.detach() for mean in means.values()])


def _add(sums: dict[str, Tensor], images: int, means: dict[str, Tensor]) -> None:
    for name, mean in means.items():
        total = mean.detach() * images
        sums[name] = sums[name] + total if name in sums else total
    sums["images"] = sums["images"] + images if "images" in sums else torch.tensor(float(images))


def _close_epoch(recipe: Recipe, f: nn.Module, test_set: ImageSet, position: Position, device: torch.device) -> None:
    """Add the epoch's row to the history and move to the start of the next."""
    images = position.sums.pop("images")
    measured = sum(position.phases.values()) or 1.0
    row = {
        "epoch": position.epoch + 1,
        "lr": recipe.lr * recipe.schedule.factor(position.epoch, recipe.epochs),
        **{name: total / images for name, total in position.sums.items()},
        "test_noisy_accuracy": noisy_accuracy(recipe, f, test_set, position.epoch, device),
        "seconds": round(position.seconds, 4),
        **{f"seconds_{p}": round(position.seconds * position.phases.get(p, 0.0) / measured, 4) for p in PHASES},
        "images_per_second": round(images / position.seconds, 1),
        **peak_memory(device),
    }
    position.start_next_epoch(row)


@torch.inference_mode()
def noisy_accuracy(
    recipe: Recipe, f: nn.Module, test_set: ImageSet, epoch: int, device: torch.device, most: int = 1000
) -> float:
    """Share of about `most` evenly spaced test images that f gets right under one noise draw: to watch by."""
    f.eval()
    generator = generator_for(device, recipe.seed, "watch", epoch)
    indices = torch.arange(0, len(test_set), max(1, len(test_set) // most))
    hits = 0
    for x, y in test_set.batches(indices.split(recipe.batch)):
        hits += int((f(x + recipe.objective.noise.sample_like(x, generator)).argmax(1) == y).sum())
    return hits / len(indices)


def refuse_divergence(position: Position) -> None:
    """Stop before a checkpoint of NaN weights replaces a good one."""
    for name, total in position.sums.items():
        if not abs(total) < float("inf"):
            raise InputError(
                f"training diverged in epoch {position.epoch + 1}: {name} is {total}; try a smaller lr or lbd"
            )
