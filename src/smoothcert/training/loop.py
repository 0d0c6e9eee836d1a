"""The epoch loop: no callbacks. It yields what happens, and whoever iterates may show it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert.data import ImageSet
from smoothcert.data.shifted import shifted
from smoothcert.errors import InputError
from smoothcert.files.environment import environment
from smoothcert.files.source import is_spec
from smoothcert.files.writing import sole_owner
from smoothcert.interchange.weights import save_weights
from smoothcert.machine.precision import require_precision
from smoothcert.models.network import declared
from smoothcert.noise.stream import generator_for
from smoothcert.objectives import Charging
from smoothcert.recipes import Recipe, to_dict
from smoothcert.recipes.recipe_of_first import recipe_of_first
from smoothcert.recipes.source import with_sources
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import PHASES, write_training_log
from smoothcert.training.build_network import build_network
from smoothcert.training.checkpoint import Position, load_checkpoint, save_checkpoint
from smoothcert.training.count_votes import Votes
from smoothcert.training.finished_run import FinishedRun
from smoothcert.training.first_votes import describe_first, first_votes
from smoothcert.training.frozen_classifier import FrozenClassifier, goal_of
from smoothcert.training.learner import Learner
from smoothcert.training.look import look
from smoothcert.training.sample import Sample
from smoothcert.training.seeded import seeded
from smoothcert.training.start import Start
from smoothcert.training.stopwatch import Stopwatch, peak_memory
from smoothcert.training.team import Team
from smoothcert.training.try_out import try_out
from smoothcert.training.watched import in_words

_SECONDS_BETWEEN_CHECKPOINTS = 10.0
_SHARE_OF_TIME_FOR_CHECKPOINTS = 0.05


@dataclass(frozen=True)
class Step:
    """One optimiser step was made: number `step` of the `steps` in epoch number `epoch`, counted from 0."""

    epoch: int
    step: int
    steps: int
    images_per_second: float
    sums: dict[str, Tensor]
    """totals over the images of this epoch; reading them waits for the device"""
    epochs: int
    beside: tuple[str, ...] = ("noisy_accuracy",)
    """which of the sums are no charges, but watched beside them"""

    @property
    def done(self) -> int:
        return self.epoch * self.steps + self.step

    @property
    def total(self) -> int:
        return self.epochs * self.steps

    def __str__(self) -> str:
        images = float(self.sums["images"])
        means = {name: float(total) / images for name, total in self.sums.items() if name != "images"}
        watched = {name: means.pop(name) for name in self.beside}
        losses = "  ".join(f"{name} {mean:.3f}" for name, mean in means.items())
        speed = f"{self.images_per_second:,.0f} images/s"
        return f"epoch {self.epoch + 1}  {losses}  {in_words(watched)}  {speed}"


@dataclass(frozen=True)
class Epoch:
    """One epoch is finished and saved."""

    row: dict[str, Any]


def train_on(
    recipe: Recipe,
    folder: Path,
    train_set: ImageSet,
    test_set: ImageSet,
    device: torch.device,
    team: Team | None = None,
    start: Start | None = None,
    first: FinishedRun | None = None,
    classifier: FrozenClassifier | None = None,
) -> Iterator[Step | Epoch | Votes]:
    """Train until the recipe's last epoch, going on from the folder's checkpoint; at the end write the model.

    Killed at any instant and called again it ends with the same weights, bit for bit on one kind of machine. In a team
    all processes call it; only the first reads and writes the folder. While it is iterated the folder is locked: a
    second caller gets InputError.

    f starts with the weights of `start`, which the recipe's `init` must name. Where the recipe has a first network, it
    is the run `first`, or is trained in the same way before this one, in a folder within the folder. A denoiser may be
    trained for a `classifier`.
    """
    require_precision(recipe.precision, device)
    team, recipe = team or Team(), with_sources(recipe)
    recipe = recipe if classifier is None else classifier.of(recipe)
    goal = goal_of(recipe, classifier, device)
    _require_given(recipe, start, first)
    network = build_network(recipe, train_set.num_classes, train_set.shape[0])
    if start is not None:
        network.load_state_dict(start.weights)
    smallest = min(map(len, step_indices(recipe, len(train_set), 0)), default=0)
    if not smallest:
        raise InputError(f"an epoch has fewer images than m = {recipe.objective.m}: take more, or a smaller m")
    try_out(recipe, network, augmented(recipe, train_set), goal, smallest)
    run, writes = RunFolder(folder), team.place.first
    with sole_owner(folder, "train") if writes else contextlib.nullcontext():
        if writes:
            if run.cannot_go_on:
                raise InputError(
                    f"{folder}: holds a training without its checkpoint: choose another --out, "
                    f"or delete {run.training_log.name} and {run.model.name} to start again"
                )
            run.claim(recipe)
        f = team.adopt(network.to(device))
        f = f.to(memory_format=declared(f).memory_format or torch.contiguous_format)  # type: ignore[call-overload]
        learner = Learner(recipe, f)
        trained = {"recipe": to_dict(recipe), "data_fingerprint": train_set.fingerprint}
        position = load_checkpoint(run.checkpoint, learner, trained) if writes else Position()
        position = team.agree(learner, position)
        save = partial(save_checkpoint, run.checkpoint, learner, position, trained)
        if writes and position.epoch < recipe.epochs:
            run.model.unlink(missing_ok=True)  # of no training that this folder still knows
        train_set, test_set = train_set.to(device), test_set.to(device)
        used, votes = used_images(recipe, len(train_set)), None
        if recipe.first is not None and position.epoch < recipe.epochs:
            train_first = partial(_train_first, train_set=train_set, test_set=test_set, device=device, team=team)
            votes = yield from first_votes(recipe, run, train_set, used, train_first, first, team)
        while position.epoch < recipe.epochs:
            if position.step == 0:  # later a checkpoint has what was found
                begun = time.perf_counter()
                learner.sample = yield from look(recipe, learner, train_set, position.epoch, used, team)
                position.seconds += time.perf_counter() - begun
            yield from _rest_of_epoch(recipe, goal, learner, augmented(recipe, train_set), position, save, team, votes)
            _close_epoch(recipe, goal, learner, test_set, position, device)
            if writes:
                save()
                write_training_log(run.training_log, position.history)
            yield Epoch(position.history[-1])
        if not writes:
            return
        write_training_log(run.training_log, position.history)
        if not run.model.exists():
            about = {
                **trained,
                "model": recipe.model,
                "num_classes": train_set.num_classes,
                "normalization": recipe.normalization,
                "noise": to_dict(recipe.objective.noise),
                "dataset": recipe.data,
                "environment": environment(),
                **recipe.objective.about,
            }
            if is_spec(recipe.model) or recipe.objective.task != "classify":
                about["input_shape"] = train_set.shape  # which it need not say itself
            if recipe.ema is not None:
                about["weights"] = f"exponential moving average, decay {recipe.ema} per step"
            if recipe.first is not None:
                about["first"] = describe_first(run)
            save_weights(run.model, learner.weights(), about)


def _require_given(recipe: Recipe, start: Start | None, first: FinishedRun | None) -> None:
    """The weights that the recipe names were given, and no others."""
    if recipe.starts_from is not None and start is None:
        raise InputError(
            f"the recipe starts from a run of {recipe.starts_from}: train that first, then name its folder with --init"
        )
    if (recipe.init and recipe.init.sha256) != (start and start.init.sha256):
        name = recipe.init.name if recipe.init else "none"
        raise InputError(f"the recipe starts from given weights ({name}): name those with --init")
    if recipe.first is not None:
        recipe_of_first(recipe, recipe.first)
        if recipe.first.sha256 != (first and first.sha256):
            digest = f"{recipe.first.sha256}"[:12]
            raise InputError(f"the recipe's first network is a given run (sha256 {digest}…): name it with --first")


def _train_first(
    recipe: Recipe, folder: Path, train_set: ImageSet, test_set: ImageSet, device: torch.device, team: Team
) -> Iterator[Step | Epoch | Votes]:
    yield from train_on(recipe, folder, train_set, test_set, device, team)


def _rest_of_epoch(
    recipe: Recipe,
    goal: Charging,
    learner: Learner,
    data: ImageSet,
    position: Position,
    save: Callable[[], None],
    team: Team,
    votes: Tensor | None,
) -> Iterator[Step]:
    """The steps from `position` to the end of its epoch."""
    device, epoch, f = data.labels.device, position.epoch, learner.trained
    steps = step_indices(recipe, len(data), epoch, learner.sample)
    if not steps:
        raise InputError(f"the sampler left fewer images than m = {recipe.objective.m} in epoch {epoch + 1}")
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
        share, moment = shares[step], epoch + step / len(steps)
        objective = goal.at(moment)
        with seeded(device, recipe.seed, "step", epoch, step):
            rows = None if votes is None else votes[mine[step].to(device)]
            views = objective.views(f, x, y, generator, within=(share.start, share.total), votes=rows)
            stopwatch.lap("attack")
            charges = objective.charge(f, views, y)
            f.zero_grad()
            (charges.loss * share.weight).backward()
        team.add_gradients(f)
        learner.step(recipe.schedule.factor(moment, recipe.epochs))
        stopwatch.lap("descent")
        beside = charges.seen(y)
        means = charges.terms | beside
        shared = team.add(share.weight * torch.stack([mean.detach() for mean in means.values()]))
        totals = dict(zip(means, shared * share.total, strict=True)) | {"images": torch.tensor(float(share.total))}
        for name, total in totals.items():
            sums[name] = sums[name] + total if name in sums else total
        position.step = step + 1
        now = time.perf_counter()
        if now - saved > pause or position.step == len(steps):
            position.sums = {name: float(total) for name, total in sums.items()}
            position.add_seconds(now - begun, stopwatch.seconds)
            begun, stopwatch = now, Stopwatch(device)
            refuse_divergence(position)
            if team.place.first and position.step < len(steps):  # the end of the epoch is saved by the caller
                save()
                begun = saved = time.perf_counter()
                pause = max(pause, (saved - now) / _SHARE_OF_TIME_FOR_CHECKPOINTS)
        yield Step(epoch, position.step, len(steps), share.total / (now - clock), sums, recipe.epochs, tuple(beside))


def augmented(recipe: Recipe, train_set: ImageSet) -> ImageSet:
    """The training images as the recipe shows them: shifted, where it says so."""
    return train_set if recipe.shift is None else shifted(train_set, recipe.shift)


def used_images(recipe: Recipe, images: int) -> Tensor:
    """All, or the recipe's fraction of them, evenly spaced: a set may be sorted by class."""
    used = images if recipe.fraction is None else max(1, round(recipe.fraction * images))
    return torch.arange(used) * images // used


def step_indices(recipe: Recipe, images: int, epoch: int, sample: Sample | None = None) -> list[Tensor]:
    """The images of each optimiser step: a shuffled epoch in batches, each cut by m where the recipe says so."""
    sample = sample or Sample(used_images(recipe, images))
    order = sample.order(generator_for(torch.device("cpu"), recipe.seed, "order", epoch))
    if not recipe.split_batch:
        return list(order.split(recipe.batch))
    # As the released code: m slices of ⌊batch / m⌋ images, and what is left of a batch is not seen in this epoch.
    m = recipe.objective.m
    whole = (batch[: len(batch) // m * m] for batch in order.split(recipe.batch))
    return [part for batch in whole if len(batch) for part in batch.chunk(m)]


def _close_epoch(
    recipe: Recipe, goal: Charging, learner: Learner, test_set: ImageSet, position: Position, device: torch.device
) -> None:
    """Add the epoch's row to the history and move to the start of the next."""
    images = position.sums.pop("images")
    measured = sum(position.phases.values()) or 1.0
    row = {
        "epoch": position.epoch + 1,
        "lr": recipe.lr * recipe.schedule.factor(position.epoch, recipe.epochs),
        **{name: total / images for name, total in position.sums.items()},
        **watch(recipe, goal, learner.tested, test_set, position.epoch, device),
        "seconds": round(position.seconds, 4),
        **{f"seconds_{p}": round(position.seconds * position.phases.get(p, 0.0) / measured, 4) for p in PHASES},
        "images_per_second": round(images / position.seconds, 1),
        **peak_memory(device),
    }
    if learner.sample is not None:
        row["images_kept"] = len(learner.sample.kept)
    position.start_next_epoch(row)


@torch.inference_mode()
def watch(
    recipe: Recipe, goal: Charging, f: nn.Module, test_set: ImageSet, epoch: int, device: torch.device, most: int = 1000
) -> dict[str, float]:
    """Means over about `most` evenly spaced test images under one noise draw, by their column, as test_mse."""
    f.eval()
    generator = generator_for(device, recipe.seed, "watch", epoch)
    indices = torch.arange(0, len(test_set), max(1, len(test_set) // most))
    totals: dict[str, float] = {}
    for x, y in test_set.batches(indices.split(recipe.batch)):
        for name, total in goal.watch(f, x, y, generator).items():
            totals[name] = totals.get(name, 0.0) + float(total)
    return {f"test_{name}": total / len(indices) for name, total in totals.items()}


def refuse_divergence(position: Position) -> None:
    """Stop before a checkpoint of NaN weights replaces a good one."""
    for name, total in position.sums.items():
        if not math.isfinite(total):
            epoch = position.epoch + 1
            raise InputError(f"training diverged in epoch {epoch}: {name} is {total}; try a smaller lr or lbd")
