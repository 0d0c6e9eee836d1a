"""The model and the images that a log is about, opened again and held against its header."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Unpack, cast

import torch

from smoothcert.certification.target import ModelOptions, Target, open_target
from smoothcert.data import DATASETS, ImageSet
from smoothcert.errors import InputError, Notice
from smoothcert.files.shown import shown
from smoothcert.models.network import declared
from smoothcert.noise import GridNoise
from smoothcert.recipes.unopened import Unopened
from smoothcert.records.log import CertificationLog
from smoothcert.smoothed.votes import Voter

if TYPE_CHECKING:
    from smoothcert.machine.precision import Precision


def open_certified(
    run: str | os.PathLike[str], log: CertificationLog, **options: Unpack[ModelOptions]
) -> tuple[Target, ImageSet]:
    """What the log says it certified; InputError where this model or these images are not what its header names."""
    header, path, said = log.header, log.path, options.get("noise")
    noise, about = header.noise, header.data
    if noise is None or about is None:
        raise InputError(f"{path}: its header does not say its noise and data")
    if said not in (None, noise) and not (said == "grid" and isinstance(noise, GridNoise)):
        raise InputError(f"{path}: the log is about {noise}, not {said}")
    if about.kind is not None and options.get("dataset") is None:
        name, kind = (shown(word)[1:-1] for word in (about.name, about.kind))
        again = f"--dataset {name}" + " and its --labels" * (kind == "folder" and about.labelled)
        raise InputError(f"{path}: is about images of one's own ({kind} {name}): name them again with {again}")
    if options.get("dataset") is None and about.name not in DATASETS:  # what a log names is never opened or imported
        raise InputError(f"{path}: unknown data set {shown(about.name)}")
    # Noise of one's own is not imported by reading a log, but by opening the run that was named.
    options["noise"] = said if isinstance(noise, Unopened) else noise
    options["dataset"], options["split"] = options.get("dataset") or about.name, about.split
    options["precision"] = options.get("precision") or cast("Precision", header.precision)
    target = open_target(run, **options)
    test_set = target.images()
    if target.noise != noise:
        raise InputError(f"{path}: the log is about {noise}, not {target.noise}")
    sources = [model and model.get("sources") for model in (header.model and header.model.said, target.about["model"])]
    if sources[0] != sources[1]:
        warnings.warn(f"{path}: the source of its network or noise has changed since", Notice, stacklevel=2)
    written, now = header.model.said if header.model else {}, target.about["model"]
    for key in ("sha256", "variant", "normalization"):
        if written.get(key) != now.get(key):
            raise InputError(f"{path}: the log certifies another model (its {key} differs)")
    if (about.fingerprint, about.images) != (test_set.fingerprint, len(test_set)):
        raise InputError(f"{path}: the log certifies other images than {test_set.name} {test_set.split}")
    return target, test_set


def voter_of(target: Target, seed: int) -> Voter:
    memory_format = declared(target.f).memory_format or torch.contiguous_format
    return Voter(target.f, target.noise, target.num_classes, seed, None, target.device, memory_format)
