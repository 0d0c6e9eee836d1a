"""A network for other programs, checked against the original before it is left on disk."""

from __future__ import annotations

import copy
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.files.shown import one_line
from smoothcert.files.writing import write_atomically
from smoothcert.interchange.onnx import OnnxModel
from smoothcert.interchange.optional import optional
from smoothcert.interchange.weights import load_weights, save_weights
from smoothcert.models.freeze import frozen
from smoothcert.models.network import declared

_TOLERANCE = 1e-4  # of the largest logit: other kernels sum float32 in another order
_IMAGES = 16


@dataclass(frozen=True)
class Agreement:
    """How far the exported network's logits are from the original's on the same images."""

    images: int
    max_difference: float
    max_logit: float


def export_onnx(f: nn.Module, path: Path, about: dict[str, Any], images: Tensor | None = None) -> Agreement:
    """Write the frozen f as one ONNX file of any batch size; refuse it if onnxruntime does not agree.

    `about` goes into the file's metadata under the key "smoothcert". Another program's rounding makes another
    f: a certificate of the original holds for the original, and the ONNX file can be certified itself.
    """
    optional("onnxscript", "onnx")
    if getattr(f, "precision", "float32") != "float32":
        raise InputError(f"{path}: onnxruntime has no bfloat16 convolutions on a CPU: export to ONNX in float32")
    g = frozen(f)
    x = _images(g.input_shape, images)
    batch = torch.export.Dim("batch")
    try:
        program = torch.onnx.export(
            g,
            (x,),
            dynamo=True,
            dynamic_shapes=({0: batch},),
            input_names=["image"],
            output_names=["logits"],
            verbose=False,
        )
    except Exception as error:
        raise InputError(f"{path}: this network cannot be exported to ONNX: {one_line(error)}") from error
    if program is None:
        raise InputError(f"{path}: this network cannot be exported to ONNX")
    program.model.metadata_props["smoothcert"] = json.dumps({**about, "variant": g.variant})
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "model.onnx"
        program.save(str(draft), external_data=False)
        found = _agreement(path, g, OnnxModel(draft, g.input_shape), x)
        write_atomically(path, draft.read_bytes())
    return found


def export_safetensors(f: nn.Module, path: Path, about: dict[str, Any], images: Tensor | None = None) -> Agreement:
    """Write the weights of f by name, read them back, and refuse them if a logit differs in one bit."""
    original = copy.deepcopy(f).eval()
    x = _images(declared(f).input_shape, images)
    again = copy.deepcopy(original)
    for value in again.state_dict().values():
        value.zero_()  # so that what agrees below can only have come from the file
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "model.safetensors"
        save_weights(draft, f.state_dict(), about)
        again.load_state_dict(load_weights(draft)[0])
        found = _agreement(path, original, again, x, tolerance=0.0)
        write_atomically(path, draft.read_bytes())
    return found


def _images(shape: tuple[int, ...] | None, images: Tensor | None) -> Tensor:
    if images is not None:
        if len(images) < 2:
            raise InputError("at least 2 images are needed to compare an export with its original")
        return images.cpu().float()
    if shape is None:
        raise InputError("the network does not say its input shape: set f.input_shape, or give images to compare on")
    return torch.rand((_IMAGES, *shape), generator=torch.Generator().manual_seed(0))


def _agreement(path: Path, f: Any, exported: Any, x: Tensor, tolerance: float = _TOLERANCE) -> Agreement:
    with torch.inference_mode():
        expected, found = f(x), exported(x)
    if found.shape != expected.shape:
        raise InputError(f"{path}: the export gives {tuple(found.shape)}, the network {tuple(expected.shape)}")
    difference = float((found - expected).abs().max())
    largest = float(expected.abs().max())
    if not difference <= tolerance * largest:
        raise InputError(f"{path}: not exported: its logits differ by {difference:g} where the largest is {largest:g}")
    return Agreement(len(x), difference, largest)
