"""A certification log under attack: certificates → rows of the audit's own log."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smoothcert.audit.attack import CertificateAttack, Effort
from smoothcert.audit.judgement import level_of_each
from smoothcert.audit.oracle import Claim
from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.files.environment import environment
from smoothcert.files.jsonl import Kind, Writer, begun, read
from smoothcert.files.writing import sole_owner
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.records.log import CertificationLog
from smoothcert.records.row import Row
from smoothcert.smoothed.votes import Voter

KIND = Kind("smoothcert audit log 1", "an audit log")


def choose(log: CertificationLog, images: int | None) -> list[Row]:
    """`images` rows, evenly spread over the log, those that abstained included; all of them by default.

    A choice that looked at the outcome would make P[V ≥ v] wrong.
    """
    if log.header.num_classes is None:
        raise InputError(f"{log.path}: its header does not say num_classes")
    for row in log.rows:
        if row["predict"] >= log.header.num_classes:
            raise InputError(f"{log.path}: image {row['index']} claims class {row['predict']}, which there is not")
    if images is not None and images < 1:
        raise InputError(f"--images must be at least 1, not {images}")
    rows = sorted(log.rows, key=lambda row: row["index"])
    count = len(rows) if images is None else min(images, len(rows))
    chosen = [rows[i * len(rows) // count] for i in range(count)]
    if all(row["predict"] == ABSTAIN for row in chosen):
        raise InputError(f"{log.path}: there is no certificate to attack")
    return chosen


def audit(
    chosen: list[Row], alpha: float, voter: Voter, data: ImageSet, effort: Effort, out: Path, radius_factor: float = 1.0
) -> Iterator[dict[str, Any]]:
    """Yield every row of the audit, old ones first, then new ones as they are attacked and safely written.

    The x' of a violation is kept beside the log, as OUT-IMAGE.npy. While it is iterated the log is locked: a second
    caller gets InputError.
    """
    if not (math.isfinite(radius_factor) and radius_factor > 0):
        raise InputError(f"--radius-factor must be a positive number, not {radius_factor}")
    claims = [(row["index"], row["predict"], row["radius"]) for row in chosen]
    decides = {
        "certificates": hashlib.sha256(json.dumps(claims).encode()).hexdigest(),
        "images": len(chosen),
        "alpha": alpha,
        "radius_factor": radius_factor,
        **asdict(effort),
        "seed": voter.seed,
        "device": voter.device.type,
    }
    with sole_owner(out.parent, out.name):
        known, writer = resume(out, decides)
        with contextlib.closing(writer):
            yield from known
            done = {row["index"] for row in known}
            for row in chosen:
                if row["index"] in done or row["predict"] == ABSTAIN:
                    continue
                clock = time.perf_counter()
                x, _ = data.batch(torch.tensor([row["index"]]))
                claim = Claim(row["index"], x[0], row["predict"], radius_factor * row["radius"])
                found = CertificateAttack(voter, claim, effort, level_of_each(len(chosen)))()
                x_adv = found.pop("x", None)
                if x_adv is not None:
                    np.save(out.with_name(f"{out.stem}-{claim.index}.npy"), x_adv)
                found["seconds"] = round(time.perf_counter() - clock, 3)
                writer.append(found)
                yield found


def resume(path: Path, decides: dict[str, Any]) -> tuple[list[dict[str, Any]], Writer]:
    """The rows of an audit of these settings, new or begun earlier, and who appends to it."""
    before = read(path, KIND) if begun(path) else None
    writer = Writer(path, KIND, {"decides": decides, "environment": environment()}, before)
    return ([] if before is None else before.rows), writer
