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
from smoothcert.interchange.foreign_checkpoint import fill_factory, import_checkpoint
from smoothcert.interchange.onnx import OnnxModel
from smoothcert.interchange.program import kind_of_program, open_program
from smoothcert.interchange.weights import digest
from smoothcert.models.freeze import frozen

CHECKPOINTS = (".pth", ".pt", ".tar", ".ckpt", ".bin", ".safetensors")


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
    image_shape: tuple[int, ...] | None = None,
    trust: bool = False,
) -> ForeignModel:
    """FILE.onnx, TorchScript, FILE.pt2, FILE.pth.tar (.pth, .pt), package.module:factory, timm:NAME, torchvision:NAME.

    A checkpoint is filled into the network `arch`, one of ours or package.module:factory. `image_shape` is that of
    the images it is meant for: a model that does not say its own, and is not told `input_shape`, is tried with it.
    TorchScript and .pt2 run code of whoever made them, so they want `trust`; a factory is code that was named.
    """
    suffix = Path(spec).suffix.lower()
    if arch is not None and suffix not in CHECKPOINTS:
        raise InputError(f"{spec}: builds its network itself: --arch and --model are for files of weights")
    if suffix == ".onnx":
        if precision != "float32":
            raise InputError(f"{spec}: an ONNX file computes as it was written and cannot be turned to {precision}")
        model = OnnxModel(Path(spec), input_shape, num_classes, image_shape)
        about = {"name": spec, "variant": model.variant, "sha256": model.sha256}
        return ForeignModel(model, model.num_classes, model.input_shape, about)
    if (program := kind_of_program(Path(spec))) is not None:
        if precision != "float32":
            raise InputError(f"{spec}: a saved program computes as it was written and cannot be turned to {precision}")
        if arch is not None:
            raise InputError(f"{spec}: holds its network: --arch and --model are for files of weights")
        f, about = open_program(Path(spec), program, trust)
        return _checked(spec, f, num_classes, input_shape, precision, about, image_shape)
    if suffix in CHECKPOINTS:
        if arch is not None and ":" in arch:
            if normalization is not None:
                raise InputError(f"{spec}: --normalization is for networks of ours, {arch} has its own")
            checkpoint = fill_factory(Path(spec), arch)
        else:
            checkpoint = import_checkpoint(Path(spec), arch, num_classes, normalization)
        return _checked(spec, checkpoint.f, num_classes, input_shape, precision, checkpoint.about, image_shape)
    kind, _, name = spec.partition(":")
    if not name:
        raise InputError(
            f"{spec}: not a run, and not one of FILE.onnx, TorchScript, FILE.pt2, FILE.pth.tar, "
            "package.module:factory, timm:NAME, torchvision:NAME"
        )
    readers = {"timm": from_timm, "torchvision": from_torchvision}
    f = readers[kind](name) if kind in readers else from_factory(spec)
    about = {"name": spec, "sha256": digest(f.state_dict())}
    return _checked(spec, f, num_classes, input_shape, precision, about, image_shape)


def _checked(
    spec: str,
    f: nn.Module,
    num_classes: int | None,
    asked: tuple[int, ...] | None,
    precision: str,
    about: dict[str, Any],
    of_images: tuple[int, ...] | None = None,
) -> ForeignModel:
    g = frozen(f, precision)
    shape = g.input_shape or asked or of_images
    if shape is None:
        raise InputError(f"{spec}: does not say its input shape: give it with --input-shape, as in 3,32,32")
    if asked not in (None, shape):
        raise InputError(f"{spec}: takes images of {shape}, not {asked}")
    found = _count_classes(spec, g, shape)
    if num_classes not in (None, found):
        raise InputError(f"{spec}: has {found} classes, not {num_classes}")
    return ForeignModel(g, found, shape, {**about, "variant": about.get("variant", g.variant)})


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
