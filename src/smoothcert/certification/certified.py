"""The model and the images that a log is about, opened again and held against its header."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Unpack, cast

import torch

from smoothcert.certification.target import ModelOptions, Target, open_target
from smoothcert.data import ImageSet
from smoothcert.errors import InputError, Notice
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
    # Noise of one's own is not imported by reading a log, but by opening the run that was named.
    options["noise"] = said if isinstance(noise, Unopened) else noise
    options["dataset"] = options.get("dataset") or about.name
    options["precision"] = options.get("precision") or cast("Precision", header.precision)
    target = open_target(run, **options)
    test_set = target.images(about.split)
    if target.noise != noise:
        raise InputError(f"{path}: the log is about {noise}, not {target.noise}")
    sources = [model and model.get("sources") for model in (header.model and header.model.said, target.about["model"])]
    if sources[0] != sources[1]:
        warnings.warn(f"{path}: the source of its network or noise has changed since", Notice, stacklevel=2)
    for key in ("sha256", "variant"):
        if getattr(header.model, key, None) != target.about["model"].get(key):
            raise InputError(f"{path}: the log certifies another model (its {key} differs)")
    if (about.fingerprint, about.images) != (test_set.fingerprint, len(test_set)):
        raise InputError(f"{path}: the log certifies other images than {test_set.name} {test_set.split}")
    return target, test_set


def voter_of(target: Target, seed: int) -> Voter:
    memory_format = declared(target.f).memory_format or torch.contiguous_format
    return Voter(target.f, target.noise, target.num_classes, seed, None, target.device, memory_format)
