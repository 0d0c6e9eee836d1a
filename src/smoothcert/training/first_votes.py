"""Votes of a recipe's first network on the training images: counted once, kept in the run folder."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.files.shown import differences
from smoothcert.interchange.factory import network_of
from smoothcert.interchange.weights import load_weights, save_weights
from smoothcert.recipes import Recipe, to_dict
from smoothcert.recipes.recipe_of_first import recipe_of_first
from smoothcert.records.run_folder import RunFolder
from smoothcert.training.count_votes import Question, Votes, count_votes
from smoothcert.training.finished_run import FinishedRun, read_finished
from smoothcert.training.seeded import seeded
from smoothcert.training.team import Team

Event = TypeVar("Event")
Train = Callable[[Recipe, Path], Iterator[Event]]
"""trains a recipe into a folder, on the images and by the team of the recipe it is the first network of"""
_SECONDS_BETWEEN_SAVES = 10.0
_SCALE = re.compile(r"scale (\S+): ")


def read_first(path: Path, recipe: Recipe) -> tuple[Recipe, FinishedRun]:
    """`recipe` with the digest of the finished run that is to be its first network, and this run.

    The run must be of the recipe that is asked for; its seed, and how far it was reduced, may be others.
    """
    if recipe.first is None:
        raise InputError("--first: the recipe has no first network")
    run = read_finished(path)
    found = run.folder.read_recipe()
    scale = _SCALE.match(found.reduced or "")
    try:
        wanted = recipe_of_first(recipe, replace(recipe.first, scale=float(scale[1]) if scale else 1.0))
    except ValueError:
        wanted = recipe_of_first(recipe, recipe.first)
    wanted = replace(wanted, seed=found.seed)
    if found != wanted:
        said = differences(to_dict(found), to_dict(wanted))
        raise InputError(f"--first {path}: is not a run of {recipe.first.recipe} on these images ({said})")
    if recipe.first.sha256 not in (None, run.sha256):
        raise InputError(f"--first {path}: the recipe has another first network (sha256 {recipe.first.sha256[:12]}…)")
    return replace(recipe, first=replace(recipe.first, sha256=run.sha256)), run


@dataclass(frozen=True)
class _Kept:
    """first-votes.safetensors: the votes on the first `done` images, and whose they are."""

    counts: Tensor
    done: int
    about: dict[str, Any]

    def save(self, path: Path) -> None:
        save_weights(path, {"counts": self.counts}, self.about | {"done": self.done})


def first_votes(
    recipe: Recipe,
    run: RunFolder,
    data: ImageSet,
    used: Tensor,
    train: Train[Event],
    given: FinishedRun | None,
    team: Team,
) -> Generator[Event | Votes, None, Tensor]:
    """(N, K) float32: the share of each class in the first network's votes on each training image, 0 on unused ones.

    The network is trained in the folder's `first`, unless a finished run is given. Killed at any instant and called
    again, it goes on where it was. Only the first process of a team reads and writes the folder.
    """
    first, device = recipe.first, data.labels.device
    assert first is not None
    shares = torch.zeros((len(data), data.num_classes), device=device)
    kept = _read(run.first_votes, recipe, data, used) if team.place.first else None
    done = int(team.from_first(torch.tensor(kept.done if kept else 0, device=device)))
    counts = kept.counts if kept else torch.zeros((len(used), data.num_classes), dtype=torch.int64)
    counts = team.from_first(counts.to(device)).cpu()
    if done < len(used):
        trained = recipe_of_first(recipe, first)
        if given is None:
            yield from train(trained, run.first)
        else:
            trained = given.folder.read_recipe()
        opened = given or (read_finished(run.first) if team.place.first else None)
        f = _network(trained, data.num_classes, opened, device, team)
        about = _about(recipe, data, used) | {"network": to_dict(trained), "sha256": opened.sha256 if opened else ""}
        if kept and kept.about.get("sha256") != about["sha256"]:
            raise InputError(f"{run.first_votes}: has votes of another first network: delete it to count again")
        assert trained.objective.noise is not None  # `recipe_of_first` asks for it
        question = Question(f, trained.objective.noise, first.votes, recipe.seed, "first-votes", trained.precision)
        note = f"the first network is a reduced run ({trained.reduced})" if trained.reduced else ""
        saved = time.perf_counter()
        for part in count_votes(question, data, used[done:], team, device):
            counts[done : done + len(part)] = part
            done += len(part)
            now = time.perf_counter()
            if team.place.first and (done == len(used) or now - saved > _SECONDS_BETWEEN_SAVES):
                _Kept(counts, done, about).save(run.first_votes)
                saved = time.perf_counter()
            yield Votes(done, len(used), f"{first.votes:,} votes of the first network an image", note)
    shares[used.to(device)] = (counts.double() / first.votes).float().to(device)
    return shares


def describe_first(run: RunFolder) -> dict[str, Any]:
    """What model.safetensors says of the first network, from the votes that were kept."""
    _, about = load_weights(run.first_votes)
    return {key: about[key] for key in ("network", "sha256", "votes")}


def _about(recipe: Recipe, data: ImageSet, used: Tensor) -> dict[str, Any]:
    """What decides the votes, beside the network."""
    assert recipe.first is not None
    return {
        "votes": recipe.first.votes,
        "seed": recipe.seed,
        "images": len(used),
        "data_fingerprint": data.fingerprint,
    }


def _read(path: Path, recipe: Recipe, data: ImageSet, used: Tensor) -> _Kept | None:
    if not path.exists():
        return None
    tensors, about = load_weights(path)
    wanted, counts, done = _about(recipe, data, used), tensors.get("counts"), about.get("done")
    is_ours = counts is not None and counts.shape == (len(used), data.num_classes) and counts.dtype == torch.int64
    if not is_ours or not isinstance(done, int) or not 0 <= done <= len(used):
        raise InputError(f"{path}: does not hold votes that this program counted: delete it to count again")
    given = recipe.first.sha256 if recipe.first else None
    if {key: about.get(key) for key in wanted} != wanted or given not in (None, about.get("sha256")):
        raise InputError(f"{path}: has other votes (of another network, number or image set): delete it to count again")
    assert counts is not None
    return _Kept(counts, done, about)


def _network(
    recipe: Recipe, num_classes: int, opened: FinishedRun | None, device: torch.device, team: Team
) -> nn.Module:
    """The first network with its weights, which the first process has read."""
    with seeded(torch.device("cpu"), recipe.seed, "first"):  # fresh weights are drawn only to be overwritten
        f = network_of(recipe.model)(num_classes, recipe.normalization).to(device)
    if opened is not None:
        f.load_state_dict(opened.weights)
    for tensor in f.state_dict().values():
        tensor.copy_(team.from_first(tensor))
    return f
