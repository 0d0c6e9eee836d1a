"""What is certified: f in its final form, with the noise and the test set it is meant for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from smoothcert import models
from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.models.opened import open_model
from smoothcert.models.weights import digest, load_weights
from smoothcert.noise import Noise
from smoothcert.recipes.serialize import noise_from_dict
from smoothcert.records.run_folder import RunFolder
from smoothcert.smoothed.classifier import SmoothedClassifier


@dataclass(frozen=True)
class Wishes:
    """What the caller says of a model; a run of ours says most of it itself."""

    noise: Noise | None = None
    data: str | None = None
    arch: str | None = None
    num_classes: int | None = None
    input_shape: tuple[int, ...] | None = None
    normalization: str | None = None


@dataclass(frozen=True)
class Target:
    """f as it is certified and deployed; `about` is what a certificate says of it."""

    name: str
    f: Callable[[Tensor], Tensor] = field(repr=False)
    num_classes: int
    input_shape: tuple[int, ...]
    noise: Noise
    data: str | None
    about: dict[str, Any]
    log: Path
    """where its certificates go unless another place is named"""

    def smoothed(self, seed: int, device: torch.device, batch: int | Literal["auto"] = "auto") -> SmoothedClassifier:
        return SmoothedClassifier(self.f, self.noise, self.num_classes, seed=seed, batch=batch, device=device)

    def require_fit(self, test_set: ImageSet) -> None:
        if test_set.shape != self.input_shape:
            sizes = " but the model takes ".join("×".join(map(str, s)) for s in (test_set.shape, self.input_shape))
            raise InputError(f"the images of {test_set.name} are {sizes}")
        if test_set.num_classes != self.num_classes:
            raise InputError(
                f"{test_set.name} has {test_set.num_classes} classes but {self.name} tells {self.num_classes} apart"
            )


def open_target(spec: str, device: torch.device, wishes: Wishes | None = None) -> Target:
    """A run folder of ours (or its weights file), or anything that `open_model` reads."""
    wishes = wishes or Wishes()
    path = Path(spec)
    if path.is_dir() or path.suffix == ".safetensors":
        return _from_run(path, device, wishes)
    if not path.exists() and ":" not in spec:
        raise InputError(f"{spec}: no such run or model file: see `smoothcert train --help`")
    return _from_model(spec, device, wishes)


def _from_run(path: Path, device: torch.device, wishes: Wishes) -> Target:
    folder = RunFolder(path if path.is_dir() else path.resolve().parent)
    file = folder.model if path.is_dir() else path
    if path.is_dir() and not file.exists():
        if folder.cannot_go_on:
            raise InputError(f"{path}: its weights were not kept: train it again, with another --out")
        if folder.recipe.exists():
            raise InputError(f"{path}: its training is not finished: give the same `smoothcert train` command again")
        raise InputError(f"{path}: not a run folder (no {file.name})")
    if wishes.arch or wishes.num_classes or wishes.input_shape or wishes.normalization:
        raise InputError(f"{path}: a run knows its network: --arch and the like are for others' models")
    weights, about = load_weights(file)
    missing = {"model", "num_classes", "normalization", "noise", "dataset"} - about.keys()
    if missing:
        raise InputError(f"{file}: holds no finished model (a checkpoint of a training?)")
    network = models.build(about["model"], about["num_classes"], about["normalization"])
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{file}: does not fit {about['model']}: {' '.join(str(error).split())}") from error
    f = models.frozen(network.to(device))
    normalization = about["normalization"]
    described: dict[str, Any] = {
        "model": {
            "name": about["model"],
            "variant": f.variant if normalization == "standard" else f"{f.variant}, normalization {normalization}",
            "sha256": digest(weights),
        },
        **{key: about[key] for key in ("recipe", "imported") if key in about},
    }
    return Target(
        name=folder.path.resolve().name,
        f=f,
        num_classes=about["num_classes"],
        input_shape=f.input_shape or (),
        noise=wishes.noise or noise_from_dict(about["noise"]),
        data=wishes.data or about["dataset"],
        about=described,
        log=folder.certification_log,
    )


def _from_model(spec: str, device: torch.device, wishes: Wishes) -> Target:
    if wishes.noise is None:
        raise InputError(f"{spec}: does not say its noise: give it with --sigma (certify with the σ of its training)")
    opened = open_model(
        spec,
        arch=wishes.arch,
        num_classes=wishes.num_classes,
        input_shape=wishes.input_shape,
        normalization=wishes.normalization,
    )
    f = opened.f.to(device) if isinstance(opened.f, torch.nn.Module) else opened.f
    name = re.sub(r"[^\w.+-]+", "-", spec).strip("-.")
    return Target(
        name=name,
        f=f,
        num_classes=opened.num_classes,
        input_shape=opened.input_shape,
        noise=wishes.noise,
        data=wishes.data,
        about={"model": opened.about},
        log=Path(f"{name}.certify.jsonl"),
    )
