"""The denoiser before a classifier: a run of ours, or anybody's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import nn

from smoothcert import models
from smoothcert.certification.composed import Part
from smoothcert.certification.own_code import require_trained, sources_of
from smoothcert.errors import InputError
from smoothcert.files.shown import shown
from smoothcert.files.source import is_spec
from smoothcert.interchange.factory import network_of
from smoothcert.interchange.foreign_denoiser import open_denoiser, require_denoiser
from smoothcert.interchange.weights import digest, load_weights, require_kinds
from smoothcert.models import OneShot
from smoothcert.models.autocast import frozen_denoiser
from smoothcert.models.denoised import UNIT
from smoothcert.noise import AnyGaussian, Noise
from smoothcert.records.run_folder import RunFolder

DENOISE, PREDICT_NOISE = TASKS = ("denoise", "predict-noise")
"""what the weights of a denoiser's run say they are for"""


def denoiser_part(
    spec: str,
    shape: tuple[int, ...],
    noise: Noise,
    device: torch.device,
    *,
    arch: str | None = None,
    range: tuple[float, float] | None = None,
    precision: str = "float32",
    trust: bool = False,
) -> Part:
    """The denoiser in its final form, for images of this shape: a run folder, or what `open_denoiser` reads."""
    path = Path(spec)
    if path.is_dir() or (path.suffix == ".safetensors" and arch is None):
        if range is not None or arch is not None:
            raise InputError(f"{spec}: a run knows its network and range: leave --denoiser-arch and -range out")
        return _from_run(path, shape, noise, device, precision, trust)
    if range is not None and spec.startswith("diffusers:"):
        raise InputError(f"{spec}: works in [−1, 1] and is dealt with so: leave --denoiser-range out")
    if not path.exists() and ":" not in spec:
        raise InputError(f"{spec}: no such denoiser")
    opened = open_denoiser(spec, shape, arch=arch, precision=precision, trust=trust)
    f = opened.denoiser.to(device) if isinstance(opened.denoiser, nn.Module) else opened.denoiser
    about = opened.about | _sources(opened.about.get("network") or spec, noise)
    return Part(f, re.sub(r"[^\w.+-]+", "-", spec).strip("-."), about, range or UNIT)


def standard_deviation(noise: Noise) -> float:
    """σ of one coordinate, which a denoiser is told."""
    if isinstance(noise, AnyGaussian):
        return noise.sigma
    try:
        return float(noise.marginal.std())
    except AttributeError:
        raise InputError(f"{noise} does not say its law (`marginal`), so a denoiser cannot be told its σ") from None


def _sources(name: str, noise: Noise) -> dict[str, Any]:
    return {} if name.startswith("diffusers:") else sources_of(name, noise)


def _from_run(
    path: Path, shape: tuple[int, ...], noise: Noise, device: torch.device, precision: str, trust: bool
) -> Part:
    folder = RunFolder(path if path.is_dir() else path.resolve().parent)
    file = folder.model if path.is_dir() else path
    if not file.exists():
        raise InputError(f"{path}: holds no finished denoiser (no {file.name})")
    weights, about = load_weights(file)
    require_kinds(file, about)
    task = about.get("task")
    if task not in TASKS:
        raise InputError(f"{path}: is a classifier, no denoiser: --denoiser names what was trained to remove noise")
    network = _network(file, about, shape[0], trust)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{file}: does not fit {shown(about.get('model'))}: {' '.join(str(error).split())}") from error
    f = frozen_denoiser(network.to(device), precision)
    if task == PREDICT_NOISE:
        f = OneShot(f, str(about.get("schedule"))).eval()
    require_denoiser(str(path), f, shape)
    said = {"name": about["model"], "variant": f.variant, "sha256": digest(weights), "task": task}
    said |= _sources(about["model"], noise)
    said |= {key: about[key] for key in ("schedule", "recipe") if key in about}
    return Part(f, folder.path.resolve().name, said)


def _network(file: Path, about: dict[str, Any], channels: int, trust: bool) -> nn.Module:
    """As it was trained: one of ours, made for so many channels, or code of one's own."""
    name = about.get("model")
    if is_spec(name):
        require_trained(file, about, name, trust)
        return network_of(name)(about.get("num_classes", 0), about.get("normalization", "standard"))
    return models.build_denoiser(str(name), channels)
