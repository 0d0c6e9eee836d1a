"""A PyTorch checkpoint file as plain tensors: nothing in it is executed."""

from __future__ import annotations

import hashlib
import io
import pickle
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse
from torch import Tensor

from smoothcert.errors import InputError
from smoothcert.files.pickle_program import look_through
from smoothcert.files.reading import LARGEST, NOT_ZIP, read_bytes
from smoothcert.files.shown import one_line, shown

_LONGEST = 1_000_000  # opcodes of a pickle: a tensor takes some forty
_OLD_HEAD = 5  # pickles at the head of a file of torch < 1.6; its tensors follow them
_GROWING = ("builtins bytearray", "__builtin__ bytearray", "_codecs encode")  # torch would let a pickle call them
_WEIGHTS = ("state_dict", "net", "model_state_dict", "model")


@dataclass(frozen=True)
class State:
    """What a checkpoint holds, its weights named as the network inside any wrapping names them."""

    weights: dict[str, Tensor]
    before: dict[str, Tensor]
    """constants of a layer before the network, if they were saved"""
    wrapped: bool
    """whether there was a layer before the network"""
    arch: str | None
    epoch: int | None
    sha256: str
    as_saved: dict[str, Tensor]
    """its weights named as they are in the file"""


def read_state(path: Path) -> State:
    """The weights in a .pth.tar, .pth or .pt dictionary, in a bare state_dict, or in .safetensors."""
    data = bytes(read_bytes(path, LARGEST))
    content = _safetensors(path, data) if path.suffix == ".safetensors" else _load(path, data)
    as_saved = _state_dict(path, content)
    weights, before, wrapped = _unwrapped(as_saved)
    arch, epoch = content.get("arch"), content.get("epoch")
    arch, epoch = arch if isinstance(arch, str) else None, epoch if isinstance(epoch, int) else None
    return State(weights, before, wrapped, arch, epoch, hashlib.sha256(data).hexdigest(), as_saved)


def _load(path: Path, data: bytes) -> dict[Any, Any]:
    data = plain_archive(path, data) if data[:2] == b"PK" else data
    try:
        if data[:2] != b"PK":
            look_through(path, data, _LONGEST, pickles=_OLD_HEAD, forbidden=_GROWING)
        content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except InputError:
        raise
    except Exception as error:  # a damaged archive raises whatever its first broken byte leads to
        wanted = re.search(r"GLOBAL ([\w.]+)", str(error)) if isinstance(error, pickle.UnpicklingError) else None
        if wanted:
            raise InputError(
                f"{path}: refused, and nothing in it was executed: its pickle asks for {shown(wanted[1])[1:-1]}, but "
                "only tensors and plain values are loaded: save f.state_dict() and name the code that builds f with "
                "--arch package.module:factory, or save f with torch.jit.script(f).save(FILE) or torch.export.save"
            ) from error
        raise InputError(f"{path}: not a PyTorch checkpoint, or damaged ({one_line(error)})") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds a {type(content).__name__}, not a dictionary with a state_dict")
    return content


def _safetensors(path: Path, data: bytes) -> dict[Any, Any]:
    try:
        return parse(data)
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path}: not a .safetensors file, or damaged ({one_line(error)})") from error


def plain_archive(path: Path, data: bytes) -> bytes:
    """The archive written anew from what Python reads in it, so that torch's reader sees nothing else there.

    PyTorch packs nothing in a checkpoint: a member that says it is packed could unpack to anything. It finds names in
    upper and lower case alike.
    """
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w") as made:
            found = archive.infolist()
            if len({info.filename.lower() for info in found}) < len(found):
                raise InputError(f"{path}: not a PyTorch checkpoint: a name is twice in its archive")
            packed = any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 for info in found)
            if packed or sum(info.file_size for info in found) > len(data):
                raise InputError(f"{path}: not a PyTorch checkpoint: its archive is packed or encrypted")
            for info in found:
                content = archive.read(info)
                if info.filename.lower().endswith(".pkl"):
                    look_through(path, content, _LONGEST, forbidden=_GROWING)
                made.writestr(zipfile.ZipInfo(info.filename), content)
    except NOT_ZIP as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a PyTorch checkpoint, or damaged ({one_line(error)})") from error
    return out.getvalue()


def _state_dict(path: Path, content: dict[Any, Any]) -> dict[str, Tensor]:
    weights = next((content[key] for key in _WEIGHTS if isinstance(content.get(key), dict)), content)
    if not weights or not all(isinstance(key, str) and _is_plain(value) for key, value in weights.items()):
        found = ", ".join(shown(key) for key in list(content)[:5]) or "none"
        raise InputError(f"{path}: no state_dict of plain tensors in it; its keys are {found}")
    return dict(weights)


def _is_plain(value: object) -> bool:
    return (
        isinstance(value, Tensor)
        and value.layout == torch.strided
        and not (value.is_quantized or value.is_meta or value.is_complex())
        and value.untyped_storage().nbytes() >= value.numel() * value.element_size()  # not one number seen 10¹² times
    )


def _unwrapped(weights: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor], bool]:
    """nn.DataParallel puts `module.` before every key, nn.Sequential(normalise, network) puts `1.`."""
    before: dict[str, Tensor] = {}
    wrapped = False
    while True:
        if weights and all(key.startswith("module.") for key in weights):
            weights = {key.removeprefix("module."): value for key, value in weights.items()}
        elif any(key.startswith("1.") for key in weights) and all(key[:2] in ("0.", "1.") for key in weights):
            before = {key[2:]: value for key, value in weights.items() if key.startswith("0.")}
            weights = {key[2:]: value for key, value in weights.items() if key.startswith("1.")}
            wrapped = True
        else:
            return weights, before, wrapped
