"""The pilot votes of all images, from which a budget is shared out before the first image is certified."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from smoothcert.certification.verify import dense
from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.files.reading import parse_json, read_bytes
from smoothcert.files.writing import sole_owner, write_atomically
from smoothcert.procedures.budget import Budgeted
from smoothcert.procedures.evidence import Counts, Evidence
from smoothcert.records.log import read_certification
from smoothcert.records.parts import files_of, to_read
from smoothcert.records.selection import Selection
from smoothcert.smoothed.classifier import SmoothedClassifier

_FORMAT = "smoothcert pilot votes 1"
_LIMIT = 2**30  # bytes of the file
_ROUND = 8192  # votes at a time


@dataclass(frozen=True)
class Pilot:
    """The procedure with its plan, and the pilot votes by image, as far as they are still known."""

    procedure: Budgeted
    votes: Mapping[int, Counts]


def pilot_path(log: Path) -> Path:
    return log.with_name(f"{log.name}.pilot")


def share_budget(
    g: SmoothedClassifier, data: ImageSet, log: Path, procedure: Budgeted, selection: Selection
) -> Generator[int, None, Pilot]:
    """Draw n₀ votes of every selected image and share the budget out; yields how many images are done.

    A log that was begun has the plan in its header: it is gone on with, and nothing is planned twice. The pilot votes
    stand in LOG.pilot until the log has them all. Without that file they are drawn again with each image: the same but
    for a vote on a boundary of f, which may fall otherwise in another batch and ask for a few votes more or less.
    """
    with sole_owner(log.parent, log.name):
        return (yield from _shared_out(g, data, log, procedure, selection))


def _shared_out(
    g: SmoothedClassifier, data: ImageSet, log: Path, procedure: Budgeted, selection: Selection
) -> Generator[int, None, Pilot]:
    images, begun = selection.of(len(data)), files_of(to_read(log))
    if begun:
        return _gone_on_with(log, begun[0], procedure, selection, g.num_classes)
    procedure.require_affordable(len(images))
    votes, errors = dict[int, Counts](), list[int]()
    at_once = max(1, _ROUND // procedure.n0)
    for start in range(0, len(images), at_once):
        chosen = list(images[start : start + at_once])
        x, y = data.batch(torch.tensor(chosen))
        found = g.votes(x, procedure.n0, stage="selection", index=chosen)
        for index, label, counts in zip(chosen, y.tolist(), found, strict=True):
            votes[index] = tuple(map(int, counts))
            given = label if procedure.label_aware else None
            errors.append(Evidence(votes[index], given=given).pilot_errors)
        yield len(votes)
    planned = procedure.shared_out(errors)
    _write(pilot_path(log), planned, votes)
    return Pilot(planned, votes)


def _gone_on_with(log: Path, begun: Path, wanted: Budgeted, selection: Selection, num_classes: int) -> Pilot:
    header = read_certification(begun).header
    if not isinstance(header.procedure, Budgeted) or header.procedure.n0 != wanted.n0:
        return Pilot(wanted, {})  # other settings, which are refused with all that differs
    if header.selection != selection:
        raise InputError(
            f"{log}: its budget was shared out among {header.selected} images: choose another --out for other images"
        )
    plan, path = header.procedure.plan, pilot_path(log)
    planned = replace(wanted, plan=plan)
    return Pilot(planned, _read(path, plan, num_classes) if path.exists() else {})


def _write(path: Path, procedure: Budgeted, votes: Mapping[int, Counts]) -> None:
    sparse = {i: {c: count for c, count in enumerate(counts) if count} for i, counts in votes.items()}
    write_atomically(path, json.dumps({"format": _FORMAT, "plan": procedure.plan, "votes": sparse}).encode())


def _read(path: Path, plan: tuple[int, ...], num_classes: int) -> dict[int, Counts]:
    try:
        said: Any = parse_json(read_bytes(path, _LIMIT))
        if said["format"] != _FORMAT or tuple(said["plan"]) != plan:
            raise InputError("they are of another log")
        found = {int(index): dense(votes, num_classes) for index, votes in said["votes"].items()}
        if any(sum(counts) != len(plan) - 1 for counts in found.values()):
            raise InputError("an image has too few or too many")
    except (ValueError, TypeError, KeyError, AttributeError) as error:  # an InputError is a ValueError
        raise InputError(f"{path}: not the pilot votes of this log: delete it, and they are drawn again") from error
    return found
