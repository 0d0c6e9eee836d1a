"""Any denoiser that is not a run of ours."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.files.shown import one_line
from smoothcert.interchange.diffusers_unet import from_diffusers
from smoothcert.interchange.factory import from_factory
from smoothcert.interchange.foreign_checkpoint import fill_factory
from smoothcert.interchange.foreign_model import CHECKPOINTS
from smoothcert.interchange.onnx import OnnxProgram
from smoothcert.interchange.program import kind_of_program, open_program
from smoothcert.interchange.weights import digest
from smoothcert.models import OneShot, frozen
from smoothcert.models.autocast import frozen_denoiser
from smoothcert.models.composed import as_module, state
from smoothcert.models.network import declared

Denoiser = Callable[[Tensor, float], Tensor]
"""(noisy images, σ) → denoised images, in the denoiser's own range"""


@dataclass(frozen=True)
class ForeignDenoiser:
    """The denoiser, and what a certificate must say of it: name, variant and sha256 at least."""

    denoiser: Denoiser
    about: dict[str, Any]


class Blind(nn.Module):
    """A denoiser that is not told σ."""

    def __init__(self, f: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.f = as_module(f)
        state(self, declared(f), [f])

    def forward(self, z: Tensor, sigma: float) -> Tensor:
        return self.f(z)


def open_denoiser(
    spec: str, shape: tuple[int, ...], *, arch: str | None = None, precision: str = "float32", trust: bool = False
) -> ForeignDenoiser:
    """FILE.onnx, TorchScript, FILE.pt2, weights with `arch`, package.module:factory, or diffusers:FOLDER.

    It maps noisy images of this shape to images of the same shape. A network of Python is called with σ too if its
    forward has a second argument; a file is called with the images alone. A UNet2DModel of diffusers is asked for the
    noise, one step (`models.OneShot`). Weights need the code that builds their network: `arch`, package.module:factory.
    """
    path, suffix = Path(spec), Path(spec).suffix.lower()
    if arch is not None and suffix not in CHECKPOINTS:
        raise InputError(f"{spec}: builds its network itself: --denoiser-arch is for files of weights")
    saved = suffix == ".onnx" or (path.is_file() and kind_of_program(path) is not None)
    if saved and precision != "float32":
        raise InputError(f"{spec}: a saved program computes as it was written and cannot be turned to {precision}")
    if suffix == ".onnx":
        onnx = OnnxProgram(path, None, shape)
        if onnx.input_shape != shape:
            raise InputError(f"{spec}: denoises images of {onnx.input_shape}, but the classifier takes {shape}")
        return _checked(spec, Blind(onnx).eval(), shape, {"name": spec, "variant": onnx.variant, "sha256": onnx.sha256})
    if saved:
        kind = kind_of_program(path)
        assert kind is not None
        f, about = open_program(path, kind, trust)
        return _checked(spec, Blind(frozen(f)).eval(), shape, about)
    if spec.startswith("diffusers:"):
        noise, schedule = from_diffusers(Path(spec.partition(":")[2]))
        one_shot = OneShot(frozen_denoiser(noise, precision), schedule)
        about = {"name": spec, "variant": one_shot.variant, "sha256": noise.sha256, "schedule": schedule}
        return _checked(spec, one_shot.eval(), shape, about)
    if suffix in CHECKPOINTS:
        if arch is None or ":" not in arch:
            raise InputError(f"{spec}: say what builds its network: --denoiser-arch package.module:factory")
        checkpoint = fill_factory(path, arch)
        network, about = checkpoint.f, checkpoint.about
    elif ":" in spec:
        network = from_factory(spec)
        about = {"name": spec, "sha256": digest(network.state_dict())}
    else:
        raise InputError(
            f"{spec}: no run of a denoiser, and not one of FILE.onnx, TorchScript, FILE.pt2, weights, "
            "package.module:factory, diffusers:FOLDER"
        )
    g = frozen_denoiser(network, precision)
    denoiser = g if _takes_sigma(network) else Blind(g).eval()
    return _checked(spec, denoiser, shape, about | {"variant": denoiser.variant})


def _takes_sigma(network: nn.Module) -> bool:
    """Whether its forward has a second argument."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        arguments = inspect.signature(network.forward).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(each.kind in kinds for each in arguments) >= 2


def _checked(spec: str, denoiser: nn.Module, shape: tuple[int, ...], about: dict[str, Any]) -> ForeignDenoiser:
    require_denoiser(spec, denoiser, shape)
    return ForeignDenoiser(denoiser, about)


def require_denoiser(spec: str, denoiser: Denoiser, shape: tuple[int, ...]) -> None:
    """InputError in one line where it does not map images of this shape to such images."""
    try:
        with torch.inference_mode():
            found = denoiser(torch.zeros((2, *shape), device=_device(denoiser)), 0.5)
    except Exception as error:  # anybody's forward can raise anything
        raise InputError(f"{spec}: fails on images of {shape}: {one_line(error)}") from error
    if not isinstance(found, Tensor) or tuple(found.shape) != (2, *shape):
        gave = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise InputError(f"{spec}: gives {gave} for 2 images of {shape}: a denoiser keeps their shape")


def _device(denoiser: Denoiser) -> torch.device:
    parameter = next(denoiser.parameters(), None) if isinstance(denoiser, nn.Module) else None
    return torch.device("cpu") if parameter is None else parameter.device
