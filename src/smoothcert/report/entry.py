"""What a report shows of one log: the log, and what its run folder and data set add to it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from smoothcert.analysis.results import Results
from smoothcert.errors import InputError
from smoothcert.paper import Row
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log
from smoothcert.report.check import Check, check_of
from smoothcert.report.data import gallery

_SIDE = 96  # pixels: larger pictures are made smaller


@dataclass(frozen=True)
class Entry:
    """A log, and what its run folder and data set add to it."""

    results: Results
    training: Sequence[Mapping[str, Any]] = ()
    """rows of train.jsonl"""
    hyperparameters: int | None = None
    pictures: Mapping[int, bytes] = field(default_factory=dict)
    """PNG by image index: see `gallery_images`"""
    paper: tuple[Row, ...] | None = None
    """printed rows to stand beside; None: those of the same setting"""
    check: Check = field(default_factory=Check)


def entry_of(
    results: Results, paper: tuple[Row, ...] | None, pictures: Mapping[int, bytes], public_key: Path | None = None
) -> Entry:
    """With the training log that lies beside the log, where there is one, and all certificates recomputed."""
    log = RunFolder(results.path.parent).training_log if results.path else None
    # A log beside its run's training belongs to it; a TSV log that happens to lie there does not.
    training = read_training_log(log) if log and log.exists() and results.header.stated else []
    recipe = results.header.recipe
    hyperparameters = None if recipe is None else recipe.num_hyperparameters
    return Entry(results, training, hyperparameters, pictures, paper, check_of(results, public_key))


def gallery_images(results: Results) -> list[int]:
    """Indices of the test images that the gallery shows."""
    return sorted({int(results.index[i]) for chosen in gallery(results).values() for i in chosen})


def gallery_pictures(results: Results, data: str | Path | None = None) -> dict[int, bytes]:
    """PNG of each image of the gallery, if the very data set of the log is here; `data`: the folder of data sets."""
    about = results.header.data
    if about is None or about.kind is not None:  # a user's own images: the log does not say where they lie
        return {}
    import torch

    from smoothcert.data import DATASETS, load

    if about.name not in DATASETS:  # what a log names is never imported or opened
        return {}
    try:
        images = load(about.name, about.split, data)
        wanted = gallery_images(results)
        if len(images) != about.images or images.fingerprint != about.fingerprint:
            return {}
        pixels, _ = images.batch(torch.tensor(wanted))
    except InputError:
        return {}
    return {index: _png(image.numpy()) for index, image in zip(wanted, pixels, strict=True)}


def _png(image: Any) -> bytes:
    """(C, H, W) in [0, 1] → PNG, at most 96 pixels on a side."""
    from PIL import Image

    pixels = np.clip(np.rint(image * 255), 0, 255).astype(np.uint8)
    picture = Image.fromarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0))
    picture.thumbnail((_SIDE, _SIDE))
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()
