"""Programs that PyTorch saved: TorchScript, and torch.export's .pt2."""

from __future__ import annotations

import hashlib
import io
import warnings
import zipfile
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from smoothcert.errors import InputError
from smoothcert.files.reading import LARGEST, NOT_ZIP, read_bytes
from smoothcert.files.shown import one_line
from smoothcert.interchange.exported import load_exported

Kind = Literal["TorchScript", "torch.export"]


def kind_of_program(path: Path) -> Kind | None:
    """Which of the two the file is, by what is in it; None if it is neither."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = {name.partition("/")[2].lower() for name in archive.namelist()}  # torch finds names in any case
    except NOT_ZIP:
        return None
    if "archive_format" in inside:
        return "torch.export"
    return "TorchScript" if any(name.startswith("code/") for name in inside) else None


def open_program(path: Path, kind: Kind, trust: bool) -> tuple[nn.Module, dict[str, Any]]:
    """The network in evaluation mode, and what a certificate says of it.

    torch.export.load imports and executes what a file names, in more ways than a filter could close, and TorchScript
    reads and writes files: so both are opened only for those who say that they trust the file.
    """
    if not trust:
        raise InputError(f"{path}: opening {kind} runs code of whoever made the file: if you trust it, give --trust")
    data = bytes(read_bytes(path, LARGEST))
    about = {"name": str(path), "sha256": hashlib.sha256(data).hexdigest(), "variant": f"{kind}, as given"}
    try:
        return (load_torchscript if kind == "TorchScript" else load_exported)(path, data), about
    except InputError:
        raise
    except Exception as error:  # a damaged archive raises whatever its first broken byte leads to
        raise InputError(f"{path}: cannot be loaded as {kind} ({one_line(error)})") from error


def load_torchscript(path: Path, data: bytes) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that torch would rather have the author export
        f: nn.Module = torch.jit.load(io.BytesIO(data), map_location="cpu")
    return f.eval()
