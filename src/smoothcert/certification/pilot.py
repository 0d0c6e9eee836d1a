"""The pilot votes of all images, from which a budget is shared out before the first image is certified."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
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
from smoothcert.records.log import CertificationLog, missing, read_certification
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
    stand in LOG.pilot until the log has them all. Without that file they are drawn again: the same but for a vote on a
    boundary of f, which may fall otherwise in another batch. Should the plan then ask for more than the budget has
    left, the log is not gone on with.
    """
    with sole_owner(log.parent, log.name):
        begun = files_of(to_read(log))
        if begun:
            return (yield from _gone_on_with(g, data, log, read_certification(begun[0]), procedure, selection))
        images = selection.of(len(data))
        if procedure.label_aware and bool((data.labels < 0).any()):
            raise InputError("--label-aware judges the labels, and these images have none")
        procedure.require_affordable(len(images))
        drawn = yield from _drawn(g, data, procedure, images)
        planned = procedure.shared_out([evidence.pilot_errors for evidence in drawn.values()])
        return _kept(pilot_path(log), planned, drawn)


def _gone_on_with(
    g: SmoothedClassifier, data: ImageSet, log: Path, known: CertificationLog, wanted: Budgeted, selection: Selection
) -> Generator[int, None, Pilot]:
    before, path = known.header.procedure, pilot_path(log)
    if not isinstance(before, Budgeted) or _settings(before) != _settings(wanted):
        return Pilot(wanted, {})  # other settings, which are refused with all that differs
    if known.header.selection != selection:
        raise InputError(
            f"{log}: its budget was shared out among {known.header.selected} images: choose another --out for others"
        )
    if path.exists():
        return Pilot(before, read_pilot(path, before.plan, g.num_classes))
    if known.header.seed not in (None, g.seed):
        return Pilot(before, {})  # refused as well
    drawn = yield from _drawn(g, data, before, missing(known))
    spent = sum(sum(row["selection"].values()) + sum(row["estimation"].values()) for row in known.rows)
    if spent + sum(before.n0 + before.plan[evidence.pilot_errors] for evidence in drawn.values()) > before.budget:
        raise InputError(f"{path}: is lost, and pilot votes drawn again exceed the budget: choose another --out")
    return Pilot(before, _selections(drawn))  # not kept: whether the log has this seed and model is yet to be seen


def _settings(procedure: Budgeted) -> dict[str, Any]:
    return procedure.header() | {"plan": None, "noise": procedure.noise}


def _drawn(
    g: SmoothedClassifier, data: ImageSet, procedure: Budgeted, images: Sequence[int]
) -> Generator[int, None, dict[int, Evidence]]:
    found, at_once = dict[int, Evidence](), max(1, _ROUND // procedure.n0)
    for start in range(0, len(images), at_once):
        chosen = list(images[start : start + at_once])
        x, y = data.batch(torch.tensor(chosen))
        votes = g.votes(x, procedure.n0, stage="selection", index=chosen)
        for index, label, counts in zip(chosen, y.tolist(), votes, strict=True):
            found[index] = Evidence(given=label if procedure.label_aware else None).selected(counts)
        yield len(found)
    return found


def _kept(path: Path, procedure: Budgeted, drawn: Mapping[int, Evidence]) -> Pilot:
    votes = _selections(drawn)
    sparse = {i: {c: count for c, count in enumerate(counts) if count} for i, counts in votes.items()}
    write_atomically(path, json.dumps({"format": _FORMAT, "plan": procedure.plan, "votes": sparse}).encode())
    return Pilot(procedure, votes)


def _selections(drawn: Mapping[int, Evidence]) -> dict[int, Counts]:
    return {index: evidence.selection for index, evidence in drawn.items()}


def read_pilot(path: Path, plan: tuple[int, ...], num_classes: int) -> dict[int, Counts]:
    """The pilot votes of a log with this plan; InputError where they are not."""
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
