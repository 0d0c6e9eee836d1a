"""Any model that is not a run of ours, ready to be certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.files.shown import one_line
from smoothcert.interchange.factory import from_factory, from_timm, from_torchvision
from smoothcert.interchange.foreign_checkpoint import import_checkpoint
from smoothcert.interchange.onnx import OnnxModel
from smoothcert.interchange.weights import digest
from smoothcert.models.freeze import frozen

CHECKPOINTS = (".pth", ".pt", ".tar", ".ckpt")


@dataclass(frozen=True)
class ForeignModel:
    """f from images in [0, 1] to logits, and what a certificate must say of it."""

    f: Callable[[Tensor], Tensor]
    num_classes: int
    input_shape: tuple[int, ...]
    about: dict[str, Any]
    """name, variant (which arithmetic f is) and sha256 (of its file, else of its weights), at least"""


def open_model(
    spec: str,
    *,
    arch: str | None = None,
    num_classes: int | None = None,
    input_shape: tuple[int, ...] | None = None,
    normalization: str | None = None,
    precision: str = "float32",
) -> ForeignModel:
    """FILE.onnx, FILE.pth.tar (or .pth, .pt), package.module:factory, timm:NAME or torchvision:NAME."""
    suffix = Path(spec).suffix.lower()
    if suffix == ".onnx":
        if precision != "float32":
            raise InputError(f"{spec}: an ONNX file computes as it was written and cannot be turned to {precision}")
        model = OnnxModel(Path(spec), input_shape, num_classes)
        about = {"name": spec, "variant": model.variant, "sha256": model.sha256}
        return ForeignModel(model, model.num_classes, model.input_shape, about)
    if suffix in CHECKPOINTS:
        checkpoint = import_checkpoint(Path(spec), arch, num_classes, normalization)
        return _checked(spec, checkpoint.f, num_classes, input_shape, precision, checkpoint.about)
    kind, _, name = spec.partition(":")
    if not name:
        raise InputError(
            f"{spec}: not a run, and not one of FILE.onnx, FILE.pth.tar, package.module:factory, timm:NAME, "
            "torchvision:NAME"
        )
    readers = {"timm": from_timm, "torchvision": from_torchvision}
    f = readers[kind](name) if kind in readers else from_factory(spec)
    return _checked(spec, f, num_classes, input_shape, precision, {"name": spec, "sha256": digest(f.state_dict())})


def _checked(
    spec: str,
    f: nn.Module,
    num_classes: int | None,
    asked: tuple[int, ...] | None,
    precision: str,
    about: dict[str, Any],
) -> ForeignModel:
    g = frozen(f, precision)
    shape = g.input_shape or asked
    if shape is None:
        raise InputError(f"{spec}: does not say its input shape: give it with --input-shape, as in 3,32,32")
    if asked not in (None, shape):
        raise InputError(f"{spec}: takes images of {shape}, not {asked}")
    found = _count_classes(spec, g, shape)
    if num_classes not in (None, found):
        raise InputError(f"{spec}: has {found} classes, not {num_classes}")
    return ForeignModel(g, found, shape, {**about, "variant": g.variant})


def _count_classes(spec: str, f: nn.Module, shape: tuple[int, ...]) -> int:
    parameter = next(f.parameters(), torch.empty(0))
    try:
        with torch.inference_mode():
            logits = f(torch.zeros((2, *shape), device=parameter.device))
    except Exception as error:  # anybody's forward can raise anything
        raise InputError(f"{spec}: fails on images of {shape}: {one_line(error)}") from error
    if not isinstance(logits, Tensor) or logits.dim() != 2 or len(logits) != 2 or logits.shape[1] < 2:
        found = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise InputError(f"{spec}: gives {found} for 2 images; logits (2, classes) are needed")
    return logits.shape[1]
