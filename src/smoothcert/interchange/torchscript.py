"""TorchScript: what else than arithmetic it could do is refused."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from pathlib import Path

import torch
from torch import nn

from smoothcert.errors import InputError
from smoothcert.files.shown import shown
from smoothcert.interchange.pth import plain_archive

_UNPACKED = 2**28  # bytes of code, which is packed
_ON_FILES = re.compile(rb"\b(save|from_file)\b|\bops\s*\.\s*(?!(aten|prim|prims|quantized)\b)\w+")


def load_torchscript(path: Path, data: bytes) -> nn.Module:
    """The network in evaluation mode. torch.jit.load runs no Python, but what it runs can read and write files."""
    plain = plain_archive(path, data, _UNPACKED)
    with zipfile.ZipFile(io.BytesIO(plain)) as archive:
        for name in archive.namelist():
            code = "/code/" in name and not name.endswith(".debug_pkl")
            if code and (found := _ON_FILES.search(archive.read(name))):
                what = shown(found[0].decode("utf-8", "replace"))[1:-1]
                raise InputError(f"{path}: refused: its TorchScript uses {what}, which no classifier of images needs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that torch would rather have the author export
        f: nn.Module = torch.jit.load(io.BytesIO(plain), map_location="cpu")
    return f.eval()
