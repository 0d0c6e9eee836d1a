"""Images → rows: certify what a log does not hold yet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from smoothcert.certification.log import LogWriter
from smoothcert.certification.selection import Selection
from smoothcert.data import ImageSet
from smoothcert.environment import environment
from smoothcert.errors import InputError
from smoothcert.recipes import to_dict
from smoothcert.smoothed.certify import Certificate
from smoothcert.smoothed.classifier import SmoothedClassifier


@dataclass(frozen=True)
class Settings:
    """CERTIFY's parameters; with the model, the noise and the image they decide a certificate."""

    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    seed: int = 0


def certify_images(
    g: SmoothedClassifier,
    data: ImageSet,
    log: Path,
    settings: Settings,
    selection: Selection,
    name: str,
    about: dict[str, Any],
    limit: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield every row of the log, old ones first, then new ones as they are certified and safely written.

    `about` is what there is to say of the model; `limit` ends after that many images of the selection, so that a
    later call can go on.
    """
    if g.seed != settings.seed:
        raise InputError(f"the classifier's seed {g.seed} is not the settings' {settings.seed}")
    images = selection.of(len(data))
    decides = {
        **about,
        "data": {
            "name": data.name,
            "split": data.split,
            "images": len(data),
            "fingerprint": data.fingerprint,
        },
        "selection": asdict(selection),
        "selected": len(images),
        "noise": to_dict(g.noise),
        "procedure": "paper",
        "bound": "single",
        **asdict(settings),
        "device": g.device.type,
    }
    if limit is not None and limit < 1:
        raise InputError(f"--limit must be at least 1, not {limit}")
    writer = LogWriter(
        log, name, decides, environment() | {"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    )
    try:
        yield from writer.rows
        done = {row["index"] for row in writer.rows}
        for index in images[:limit]:
            if index in done:
                continue
            clock = time.perf_counter()
            x, y = data.batch(torch.tensor([index]))
            certificate = g.certify(x[0], settings.n0, settings.n, settings.alpha, index=index)
            row = to_row(certificate, int(y[0]), time.perf_counter() - clock)
            writer.append(row)
            yield row
    finally:
        writer.close()


def to_row(certificate: Certificate, label: int, seconds: float) -> dict[str, Any]:
    """One line of the log; votes are sparse, because most of a thousand classes get none."""
    return {
        "index": certificate.index,
        "label": label,
        "predict": certificate.label,
        "radius": certificate.radius,
        "correct": int(certificate.label == label),
        "selection": _sparse(certificate.selection),
        "estimation": _sparse(certificate.estimation),
        "seconds": round(seconds, 3),
    }


def _sparse(votes: tuple[int, ...]) -> dict[str, int]:
    return {str(label): count for label, count in enumerate(votes) if count}
