"""A certification log under attack: certificates → rows."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smoothcert.audit.attack import Attack, Claim, Effort
from smoothcert.audit.judgement import level_of_each
from smoothcert.audit.log import resume
from smoothcert.certification.log import CertificationLog
from smoothcert.certification.target import Target
from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.records.environment import environment
from smoothcert.records.files import sole_owner
from smoothcert.smoothed.votes import Voter


@dataclass(frozen=True)
class Plan:
    """Which rows of a log are attacked: spread evenly over all of them, those that abstained included.

    A choice that looked at the outcome would make P[V ≥ v] wrong.
    """

    log: CertificationLog
    chosen: tuple[dict[str, Any], ...]
    alpha: float

    @property
    def certified(self) -> list[dict[str, Any]]:
        return [row for row in self.chosen if row["predict"] != ABSTAIN]

    @property
    def digest(self) -> str:
        """SHA-256 of what the chosen rows claim."""
        claims = [(row["index"], row["predict"], row["radius"]) for row in self.chosen]
        return hashlib.sha256(json.dumps(claims).encode()).hexdigest()


def plan(log: CertificationLog, images: int | None) -> Plan:
    """`images` rows, evenly spread over the log; all of them by default."""
    classes, alpha = log.decides.get("num_classes"), log.decides.get("alpha")
    if not isinstance(classes, int) or not isinstance(alpha, float) or not 0 < alpha < 1:
        raise InputError(f"{log.path}: its header does not say num_classes and alpha")
    for row in log.rows:
        index, label, radius = row.get("index"), row.get("predict"), row.get("radius")
        known = type(index) is int and type(label) is int and ABSTAIN <= label < classes
        if not known or not isinstance(radius, int | float) or not (math.isfinite(radius) and radius >= 0):
            raise InputError(f"{log.path}: image {index!r} claims no class and radius that could be attacked")
    rows = sorted(log.rows, key=lambda row: row["index"])
    if images is not None and images < 1:
        raise InputError(f"--images must be at least 1, not {images}")
    count = len(rows) if images is None else min(images, len(rows))
    chosen = tuple(rows[i * len(rows) // count] for i in range(count))
    if all(row["predict"] == ABSTAIN for row in chosen):
        raise InputError(f"{log.path}: there is no certificate to attack")
    return Plan(log, chosen, alpha)


def require_same(log: CertificationLog, target: Target, data: ImageSet) -> None:
    """The model and the images that are opened are those the log is about."""
    said, found = log.decides.get("model"), target.about["model"]
    for key in ("sha256", "variant"):
        if not isinstance(said, dict) or said.get(key) != found.get(key):
            raise InputError(f"{log.path}: the log certifies another model (its {key} differs)")
    about = log.decides.get("data")
    if not isinstance(about, dict) or about.get("fingerprint") != data.fingerprint:
        raise InputError(f"{log.path}: the log certifies other images than {data.name} {data.split}")


def audit(
    plan: Plan, voter: Voter, data: ImageSet, effort: Effort, out: Path, radius_factor: float = 1.0
) -> Iterator[dict[str, Any]]:
    """Yield every row of the audit, old ones first, then new ones as they are attacked and safely written.

    The x' of a violation is kept beside the log, as OUT-IMAGE.npy. While it is iterated the log is locked: a second
    caller gets InputError.
    """
    if not (math.isfinite(radius_factor) and radius_factor > 0):
        raise InputError(f"--radius-factor must be a positive number, not {radius_factor}")
    decides = {
        "certificates": plan.digest,
        "images": len(plan.chosen),
        "alpha": plan.alpha,
        "radius_factor": radius_factor,
        **asdict(effort),
        "seed": voter.seed,
        "device": voter.device.type,
    }
    with sole_owner(out.parent, out.name):
        known, log = resume(out, decides, environment())
        try:
            yield from known
            done = {row["index"] for row in known}
            for row in plan.certified:
                if row["index"] in done:
                    continue
                clock = time.perf_counter()
                x, _ = data.batch(torch.tensor([row["index"]]))
                claim = Claim(row["index"], x[0], row["predict"], radius_factor * row["radius"])
                found = Attack(voter, claim, effort, level_of_each(len(plan.chosen)))()
                x_adv = found.pop("x", None)
                if x_adv is not None:
                    np.save(out.with_name(f"{out.stem}-{claim.index}.npy"), x_adv)
                found["seconds"] = round(time.perf_counter() - clock, 3)
                log.append(found)
                yield found
        finally:
            log.close()
