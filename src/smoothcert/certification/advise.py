"""advise: any model → which way to a certificate is worth it, measured in about a minute."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor

from smoothcert.certification.advice import Advice, Measured, advise_on, measure
from smoothcert.certification.target import ModelOptions, Target, open_target
from smoothcert.data import own_of
from smoothcert.errors import InputError
from smoothcert.interchange.foreign_model import CHECKPOINTS
from smoothcert.machine.work import work
from smoothcert.noise import Gaussian
from smoothcert.records.selection import Selection
from smoothcert.smoothed.classifier import SmoothedClassifier

SIGMAS = (0.12, 0.25, 0.5, 1.0)
_AT_ONCE = 50  # images
_OF_DENOISER = ("denoiser", "denoiser_arch", "denoiser_range")


@dataclass(frozen=True)
class Asked:
    """Votes of some images under one σ are counted."""

    done: int
    total: int
    sigma: float
    denoised: bool

    def __str__(self) -> str:
        return f"σ = {self.sigma:g}" + ", denoised" * self.denoised


@work
def advise(
    model: str | os.PathLike[str],
    *,
    radius: float = 0.5,
    sigmas: Sequence[float] = SIGMAS,
    images: int = 200,
    votes: int = 100,
    seed: int = 0,
    **options: Unpack[ModelOptions],
) -> Generator[Asked, None, Advice]:
    """Accuracy without noise, under noise of several σ, and the certified accuracy to expect at a radius.

    With a denoiser all of it also for the model behind the denoiser. Nothing is certified and nothing is written.

    Args:
        model: a run folder, or a model: FILE.onnx, TorchScript, FILE.pt2, FILE.pth.tar, package.module:factory,
            timm:NAME, torchvision:NAME
        radius: in ℓ₂, at which images are to be certified
        sigmas: of Gaussian noise, each measured by itself
        images: of the test set, evenly spaced
        votes: per image and σ
        seed: decides the noise, together with the image's index
        options: as for `certify_run`, without noise; denoiser=… to try one

    Returns:
        work: iterate over its events, or call `finish()` for the `Advice`

    Example:
        >>> advise("runs/my-run", radius=0.5).finish().way  # doctest: +SKIP
        'as is'
    """
    _require(radius, sigmas, images, votes)
    told: dict[str, Any] = {**options}
    if told.get("noise") is not None:
        raise InputError("advise tries Gaussian noise of several σ: name them with --sigmas")
    alone = {key: value for key, value in told.items() if key not in _OF_DENOISER}
    plain = open_target(model, **{**alone, "noise": Gaussian(sigmas[0])})
    x, labels, index = _chosen(plain, images)
    clean = _accuracy(plain, x, labels)
    ways = [
        (sigma, denoised) for denoised in (False, True)[: 1 + (told.get("denoiser") is not None)] for sigma in sigmas
    ]
    found: list[Measured] = []
    for number, (sigma, denoised) in enumerate(ways):
        # A denoiser is told σ, so that behind it f is another one for each.
        target = open_target(model, **{**told, "noise": Gaussian(sigma)}) if denoised else plain
        g = SmoothedClassifier(target.f, Gaussian(sigma), target.num_classes, seed=seed, device=target.device)
        counts = []
        for start in range(0, len(x), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            counts.append(g.votes(x[part], votes, stage="advise", index=index[part]))
            yield Asked(number * len(x) + min(start + _AT_ONCE, len(x)), len(ways) * len(x), sigma, denoised)
        here = _accuracy(target, x, labels) if denoised else clean
        found.append(measure(np.concatenate(counts), labels.numpy(), sigma, radius, here, denoised))
    return advise_on(found, clean, radius, plain.num_classes, len(x), votes, _can_be_trained(model, told))


def _require(radius: float, sigmas: Sequence[float], images: int, votes: int) -> None:
    if not 0 <= radius < float("inf"):
        raise InputError(f"--radius must be a number >= 0, not {radius}")
    if not sigmas or len(set(sigmas)) < len(sigmas):
        raise InputError("--sigmas must be different numbers, such as 0.25 0.5")
    for name, value, least in (("--images", images, 20), ("--votes", votes, 20)):
        if value < least:
            raise InputError(f"{name} must be at least {least}: fewer say nothing, not {value}")


def _chosen(target: Target, images: int) -> tuple[Tensor, Tensor, range]:
    """Evenly spaced images with their labels and indices."""
    test_set = target.images()
    own = own_of(test_set)
    if own is not None and not own.labelled:
        raise InputError(f"{test_set.name}: without labels there is no accuracy to measure: give --labels")
    index = Selection(every=max(1, len(test_set) // images)).of(len(test_set))[:images]
    x, labels = test_set.batch(torch.tensor([*index]))
    return x, labels.cpu(), index


def _accuracy(target: Target, x: Tensor, labels: Tensor) -> float:
    """Of f itself, without noise."""
    with torch.inference_mode():
        said = [target.f(part.to(target.device)).argmax(1).cpu() for part in x.split(_AT_ONCE)]
    return float((torch.cat(said) == labels).double().mean())


def _can_be_trained(model: str | os.PathLike[str], told: dict[str, Any]) -> bool:
    """Whether `train --init` reads it: a run folder or weights; not ONNX, nor a program, which needs trust."""
    path = Path(model)
    return path.is_dir() or (path.suffix.lower() in CHECKPOINTS and not told.get("trust"))
