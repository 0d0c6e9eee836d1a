"""Rows of a log drawn again from model, data and seed: whether f cast the votes and the data set has the labels."""

from __future__ import annotations

import math
import os
import random
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Unpack

import numpy as np
import torch

from smoothcert.certification.certified import open_certified, voter_of
from smoothcert.certification.target import ModelOptions
from smoothcert.certification.verify import dense, verify
from smoothcert.data import own_of
from smoothcert.errors import InputError
from smoothcert.files.environment import environment
from smoothcert.files.shown import shown
from smoothcert.machine.precision import float32_products, processor
from smoothcert.noise import GridNoise, Noise
from smoothcert.records.log import CertificationLog
from smoothcert.records.parts import read_whole
from smoothcert.records.row import Row
from smoothcert.records.secret_seed import read_secret, revealed_seed, secret_path
from smoothcert.smoothed.votes import Request, Votes

SHARES = (0.1, 0.05, 0.01)
ROUNDING = {"float32": 1e-5, "bfloat16": 1e-3}
"""share of an image's votes that may lie so close to a boundary of f that another order of its sums decides them"""


@dataclass(frozen=True)
class Recomputed:
    """Which rows were drawn again, how many votes were, and all that differs: (image, what)."""

    indices: tuple[int, ...]
    of: int
    votes: int
    moved: int
    """votes for another class than in the log, within the tolerance or not"""
    exact: bool
    """whether not a single vote may differ"""
    problems: tuple[tuple[int, str], ...]

    @property
    def caught(self) -> dict[float, float]:
        """Share of forged rows → probability that one of them was among those drawn."""
        return {share: caught(self.of, share, len(self.indices)) for share in SHARES}


def caught(rows: int, share: float, drawn: int) -> float:
    """1 − C(N − F, k) / C(N, k): of F = ⌈share · N⌉ forged rows at least one is among k drawn without replacement."""
    forged = math.ceil(share * rows - 1e-9)
    return 1 - math.comb(rows - forged, drawn) / math.comb(rows, drawn)


def recompute(
    path: Path, run: str | os.PathLike[str], rows: int = 20, seed: int | None = None, **options: Unpack[ModelOptions]
) -> Recomputed:
    """Draw `rows` randomly chosen rows of a log again, and compare labels and votes.

    The choice is the system's, or that of `seed`: whoever forged the log must not have known it. Weights, data and
    network are held against the header first. The votes of a row may differ by two and by the share `ROUNDING` of
    them: f sums in another order in other batches and on other processors, and votes on a boundary of f go either way.
    Under a noise that is `exact`, the same bits everywhere, none may differ where versions and processor are the log's.
    """
    log = read_whole(path)
    procedure = log.header.procedure
    if rows < 1:
        raise InputError(f"--recompute must be at least 1, not {rows}")
    if not log.rows or procedure is None:
        raise InputError(f"{log.path}: holds no certified image yet")
    said = options.get("noise")
    if any(index is not None for index, _ in verify(path, noise=None if said == "grid" else said).problems):
        raise InputError(f"{log.path}: rows do not follow from their votes: see `smoothcert verify`")
    options["device"] = _device(log, options.get("device"))
    own = seed_of(log)
    target, test_set = open_certified(run, log, **options)
    if log.header.num_classes != target.num_classes:
        raise InputError(f"{log.path}: is of {log.header.num_classes} classes, the model has {target.num_classes}")
    generator = random.SystemRandom() if seed is None else random.Random(seed)
    chosen = sorted(generator.sample(log.rows, min(rows, len(log.rows))), key=lambda row: row["index"])
    here = environment() | processor(target.device) | float32_products(target.device)
    same = all(log.environment.get(key) == value for key, value in here.items())
    exact = is_exact(target.noise) and same
    share = 0.0 if exact else ROUNDING[log.header.precision]
    names = brought.names if (brought := own_of(test_set)) is not None else ()
    voter, problems, votes, moved = voter_of(target, own), list[tuple[int, str]](), 0, 0
    for row in chosen:
        index = row["index"]
        if index >= len(test_set):
            problems.append((index, f"{test_set.name} {test_set.split} has no such image"))
            continue
        x, y = test_set.batch(torch.tensor([index]))
        if int(y[0]) != row.get("label", -1):
            problems.append((index, f"the label is {row.get('label')}, but the data set says {int(y[0])}"))
        if names and names[index] != row.get("file"):
            problems.append((index, f"the file is {shown(row.get('file'))}, but it is {shown(names[index])}"))
        requests = _requests(x[0], row)
        found = voter.count(requests)
        votes += int(found.sum())
        for stage in ("selection", "estimation"):
            parts = [f for request, f in zip(requests, found, strict=True) if request.stage == stage]
            off = _moved(row, stage, np.cumsum(parts, 0), procedure.label_aware) if parts else 0
            total = sum(row["selection" if stage == "selection" else "estimation"].values())
            moved += off
            if off > (0 if exact else 2 + share * total):
                problems.append((index, f"{off:,} of {total:,} {stage} votes are not those that the model casts"))
    return Recomputed(tuple(row["index"] for row in chosen), len(log.rows), votes, moved, exact, tuple(problems))


def is_exact(noise: Noise) -> bool:
    """Whether the noise has the same bits on every machine, which it then says itself."""
    return isinstance(noise, GridNoise)


def seed_of(log: CertificationLog) -> int:
    """That of the header, or the secret one: revealed in the closing row, or still in its file."""
    if log.header.seed is not None:
        return log.header.seed
    if log.header.seed_commitment is None:
        raise InputError(f"{log.path}: its header does not say its seed")
    found = revealed_seed(log)
    if found is None:
        if not secret_path(log.path).exists():
            raise InputError(f"{log.path}: its seed is still secret: `smoothcert reveal` it first")
        found = read_secret(secret_path(log.path))
        if found.commitment != log.header.seed_commitment:
            raise InputError(f"{secret_path(log.path)}: is not the seed that the log's header commits to")
    return found.number


def _device(log: CertificationLog, asked: str | torch.device | None) -> str:
    """Each kind of device has noise of its own."""
    kind = log.header.device or "cpu"
    if asked in (None, "auto"):
        return kind
    if str(asked).partition(":")[0] != kind:
        raise InputError(f"{log.path}: was certified on {kind}, whose noise {asked} cannot draw: leave --device away")
    return str(asked)


def _requests(x: torch.Tensor, row: Row) -> list[Request]:
    """Up to each look of the procedure the votes since the one before."""
    total = sum(row.get("estimation", {}).values())
    stops = [0, *(look[0] for look in row.get("looks", [[total]]))]
    chosen = sum(row.get("selection", {}).values())
    asked = [("selection", 0, chosen), *(("estimation", *pair) for pair in pairwise(stops))]
    return [Request(x, row["index"], *each) for each in asked if each[1] < each[2]]


def _moved(row: Row, stage: str, found: Votes, label_aware: bool) -> int:
    """Votes that are for another class than in the row: at the end, or where more, at one of the looks."""
    classes = found.shape[1]
    counts = np.array(dense(row["selection"] if stage == "selection" else row["estimation"], classes))
    moved = [int(np.abs(counts - found[-1]).sum() + 1) // 2]
    if stage == "estimation" and "looks" in row:
        judged = row["label"] if label_aware else int(np.argmax(dense(row["selection"], classes)))
        for (n, errors, runner_up), at in zip(row["looks"], found, strict=True):
            others = np.delete(at, judged)
            moved += [abs(errors - int(others.sum())), abs(runner_up - int(others.max())), abs(n - int(at.sum()))]
    return max(moved)
