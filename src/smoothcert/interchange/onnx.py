"""An ONNX file as f, from whatever framework it comes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from smoothcert.errors import InputError
from smoothcert.files.shown import one_line, shown
from smoothcert.interchange.optional import optional

_MOST_NUMBERS = 2**26  # of one input: 256 photographs have 39 million
_PROVIDERS = ("CUDAExecutionProvider", "CPUExecutionProvider")


class OnnxProgram:
    """The file's one output for images in [0, 1], whatever it is, computed by onnxruntime.

    One float32 input (batch, C, H, W) is needed. A file with a fixed batch is run as often as it takes, the last time
    filled up with zeros. What the file leaves open must be given.
    """

    input_range = (0.0, 1.0)
    memory_format = torch.contiguous_format

    def __init__(
        self, path: Path, input_shape: tuple[int, ...] | None = None, image_shape: tuple[int, ...] | None = None
    ) -> None:
        runtime = optional("onnxruntime", "onnx")
        self.path = path
        self.sha256 = _digest(path)
        self._session = _session(runtime, path)
        provider = self._session.get_providers()[0]
        self.variant = f"onnxruntime {runtime.__version__}, {provider}"
        try:
            self._input, self._fixed_batch, self.input_shape = _input(path, self._session, input_shape, image_shape)
            _require_one_output(path, self._session)
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not an ONNX model, or damaged (a name in it is not text)") from error
        self.output_shape = self._run(np.zeros((1, *self.input_shape), np.float32)).shape[1:]

    def __call__(self, x: Tensor) -> Tensor:
        if x.dtype != torch.float32 or tuple(x.shape[1:]) != self.input_shape:
            shape = ("batch", *self.input_shape)
            raise InputError(f"{self.path}: takes float32 {shape}, not {x.dtype} {tuple(x.shape)}")
        images = x.detach().cpu().contiguous().numpy()
        step = self._fixed_batch or max(1, len(images))
        parts = [self._run(images[start : start + step]) for start in range(0, len(images), step)]
        found = np.concatenate(parts) if parts else np.empty((0, *self.output_shape), np.float32)
        return torch.from_numpy(found).to(x.device)

    def _run(self, images: np.ndarray) -> np.ndarray:
        rows = len(images)
        if self._fixed_batch and rows < self._fixed_batch:
            missing = np.zeros((self._fixed_batch - rows, *self.input_shape), np.float32)
            images = np.concatenate([images, missing])
        try:
            found = self._session.run(None, {self._input: images})[0]
        except Exception as error:  # onnxruntime's exceptions share no base but this
            raise InputError(f"{self.path}: onnxruntime failed: {one_line(error)}") from error
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
            raise InputError(f"{self.path}: its output is not an array of numbers: export one with the logits alone")
        if found.ndim < 2 or len(found) != len(images):
            raise InputError(f"{self.path}: gave {found.shape} for {len(images)} images, not (batch, …)")
        return found[:rows].astype(np.float32, copy=False)


class OnnxModel:
    """f(x) = the file's logits for images in [0, 1]: an `OnnxProgram` whose output is (batch, K)."""

    input_range = OnnxProgram.input_range
    memory_format = OnnxProgram.memory_format

    def __init__(
        self,
        path: Path,
        input_shape: tuple[int, ...] | None = None,
        num_classes: int | None = None,
        image_shape: tuple[int, ...] | None = None,
    ) -> None:
        self._program = OnnxProgram(path, input_shape, image_shape)
        self.sha256, self.variant = self._program.sha256, self._program.variant
        self.input_shape = self._program.input_shape
        if len(self._program.output_shape) != 1:
            raise InputError(f"{path}: gave {(1, *self._program.output_shape)} for 1 images, not (batch, classes)")
        (self.num_classes,) = self._program.output_shape
        if self.num_classes < 2:
            raise InputError(f"{path}: a classifier needs at least 2 classes, its output has one")
        if num_classes not in (None, self.num_classes):
            raise InputError(f"{path}: its output has {self.num_classes} classes, not {num_classes}")

    def __call__(self, x: Tensor) -> Tensor:
        return self._program(x)


def _require_one_output(path: Path, session: Any) -> None:
    outputs = session.get_outputs()
    if len(outputs) != 1:
        names = ", ".join(output.name for output in outputs)
        raise InputError(f"{path}: has {len(outputs)} outputs ({names}): export one with the logits alone")


def _session(runtime: Any, path: Path) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised, and said once
    available = runtime.get_available_providers()
    providers = [name for name in _PROVIDERS if name in available]
    try:
        # With nothing to fall back to, onnxruntime would print what it raises and try the same again.
        return runtime.InferenceSession(str(path), options, providers, enable_fallback=int(len(providers) > 1))
    except Exception as error:
        raise InputError(f"{path}: not an ONNX model, or damaged ({one_line(error)})") from error


def _input(
    path: Path, session: Any, asked: tuple[int, ...] | None, of_images: tuple[int, ...] | None
) -> tuple[str, int | None, tuple[int, ...]]:
    """The input's name, its batch where that is fixed, and the shape of one image; what is open the images decide."""
    inputs = session.get_inputs()
    if len(inputs) != 1:
        names = ", ".join(value.name for value in inputs)
        raise InputError(f"{path}: has {len(inputs)} inputs ({names}), a classifier of images has one")
    value = inputs[0]
    if value.type != "tensor(float)":
        raise InputError(f"{path}: its input is {value.type}, noise needs tensor(float): export it for float32")
    if len(value.shape) < 2:
        raise InputError(f"{path}: its input {value.shape} has no room for a batch of images")
    batch, *shape = value.shape
    is_open = not all(isinstance(size, int) and size > 0 for size in shape)
    asked = of_images if asked is None and is_open else asked
    if asked is not None and (
        len(asked) != len(shape) or any(isinstance(s, int) and s != a for s, a in zip(shape, asked, strict=True))
    ):
        raise InputError(f"{path}: takes images of {tuple(shape)}, not {asked}")
    sizes = tuple(shape) if asked is None else asked
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        raise InputError(f"{path}: leaves its image shape {sizes} open: give it with --input-shape, as in 3,32,32")
    fixed = batch if isinstance(batch, int) and batch > 0 else None
    if math.prod(sizes) * (fixed or 1) > _MOST_NUMBERS:
        raise InputError(f"{path}: takes {fixed or 1} image(s) of {sizes} at once, more than fits in memory")
    return value.name, fixed, sizes


def _digest(path: Path) -> str:
    """SHA-256 of the file, followed by the weights it keeps in other files."""
    onnx = optional("onnx", "onnx")
    total = hashlib.sha256()
    try:
        total.update(path.read_bytes())
        model = onnx.load(str(path), load_external_data=False)
        outside = {e.value for tensor in _tensors(model) for e in tensor.external_data if e.key == "location"}
        for name in sorted(outside):
            with _inside(path.parent, name).open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: no such file") from None
    except InputError:
        raise
    except Exception as error:  # protobuf's own error type is not importable without it
        raise InputError(f"{path}: not an ONNX model, or damaged ({one_line(error)})") from error
    return total.hexdigest()


def _tensors(message: Any) -> Iterator[Any]:
    """Every tensor of a model: initializers, constants, those of inner graphs and functions."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in [value] if hasattr(value, "ListFields") else value:
            if part.DESCRIPTOR.full_name == "onnx.TensorProto":
                yield part
            else:
                yield from _tensors(part)


def _inside(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()) or (path.exists() and not path.is_file()):
        raise InputError(f"{folder}: an ONNX model there wants its weights from {shown(name)[1:-1]}, which is refused")
    return path
