"""Tensors and a JSON description in one safetensors file: nothing in it can execute, damage is noticed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse
from safetensors.torch import save as serialize
from torch import Tensor

from smoothcert.errors import InputError
from smoothcert.files.reading import LARGEST, parse_json, read_bytes
from smoothcert.files.shown import one_line, shown
from smoothcert.files.writing import write_atomically

_KEY = "smoothcert"
_KINDS = {"model": str, "num_classes": int, "normalization": str, "dataset": str, "recipe": dict}


def save_weights(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    description = json.dumps({"about": about, "sha256": digest(plain)})
    write_atomically(path, serialize(plain, metadata={_KEY: description}))


def load_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and their description; refuses a file that is not as it was written."""
    data = bytes(read_bytes(path, LARGEST))
    try:
        tensors = parse(data)
        header = parse_json(data[8 : 8 + int.from_bytes(data[:8], "little")])
        description = parse_json(header["__metadata__"][_KEY])
        about, expected = description["about"], description["sha256"]
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a weights file of smoothcert, or damaged ({one_line(error)})") from error
    if not isinstance(about, dict):
        raise InputError(f"{path}: not a weights file of smoothcert: its description is not a table")
    if digest(tensors) != expected:
        raise InputError(f"{path}: damaged: its contents do not match its checksum")
    return tensors, about


def require_model(path: Path, about: dict[str, Any], *more: str) -> None:
    """InputError unless this describes a finished model: what it is, and `more`."""
    if not {"model", "num_classes", "normalization", *more} <= about.keys():
        raise InputError(f"{path}: holds no finished model (a checkpoint of a training?)")
    require_kinds(path, about)


def require_kinds(path: Path, about: dict[str, Any]) -> None:
    """InputError where what a run's weights say of themselves is not of the kind that a training writes."""
    for name, kind in _KINDS.items():
        if name in about and type(about[name]) is not kind:
            raise InputError(f"{path}: says of itself that its {name} is {shown(about[name])}, which cannot be")


def digest(tensors: dict[str, Tensor]) -> str:
    """SHA-256 of names, types, shapes and values."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
