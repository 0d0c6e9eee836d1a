"""Programs of torch.export, .pt2: graph and tensors alone.

torch.export.load unpickles what a file wants and executes Python text in it (guards, shape expressions), and its graph
may call anything in torch. So the archive is written anew without these, and its operators must be of `aten`.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.files.reading import parse_json
from smoothcert.files.shown import one_line, shown
from smoothcert.interchange.pth import plain_archive

_OPERATOR = re.compile(r"torch\.ops\.aten\.(?!from_file\b)\w+(\.\w+)?|_operator\.(getitem|add|sub|mul|floordiv)")
_SHAPE = re.compile(r"(Symbol\('[su]\d{1,9}'(, (positive|integer)=True)*\)|Integer\(-?\d{1,18}\)|Mul\(|Add\(|[), ])*")
_NAME = re.compile(r"[\w.]{1,500}")
_NEEDED = re.compile(r"data/(weights|constants)/\w+(\.json)?|models/model\.json|archive_\w+|byteorder|\.data/\w+")
_GRAPH, _INPUTS = "models/model.json", "data/sample_inputs/model.pt"


class Exported(nn.Module):
    """A program of torch.export; one with a fixed batch is run as often as it takes, filled up with zeros."""

    input_range = (0.0, 1.0)

    def __init__(self, program: nn.Module, batch: int | None, input_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.program, self.batch = program, batch
        for part in program.modules():  # its mode was decided when it was exported; what torch says here is not it
            part.training = False
        self.input_shape: tuple[int, ...] = input_shape

    def forward(self, x: Tensor) -> Tensor:
        if self.batch is None:
            logits: Tensor = self.program(x)
            return logits
        missing = -len(x) % self.batch
        filled = torch.cat([x, x.new_zeros(missing, *x.shape[1:])]) if missing else x
        return torch.cat([self.program(part) for part in filled.split(self.batch)])[: len(x)]

    def train(self, mode: bool = True) -> Exported:
        self.training = mode  # not of the program: torch refuses to be asked
        return self


def load_exported(path: Path, data: bytes) -> Exported:
    """The program, with the batch and the image shape that it was exported for."""
    program = torch.export.load(io.BytesIO(harmless(path, data)))
    names = program.graph_signature.user_inputs
    if len(names) != 1 or len(program.graph_signature.user_outputs) != 1:
        raise InputError(f"{path}: has {len(names)} inputs, or several outputs: export f(images) → logits")
    value = next(node.meta["val"] for node in program.graph.nodes if node.name == names[0])
    batch, *shape = value.shape
    if not shape or not all(isinstance(size, int) for size in shape) or value.dtype != torch.float32:
        raise InputError(f"{path}: takes {value.dtype} {tuple(value.shape)}: export it for float32 images of one size")
    return Exported(program.module(check_guards=False), batch if isinstance(batch, int) else None, tuple(shape))


def harmless(path: Path, data: bytes) -> bytes:
    """The archive with the graph, the tensors, and nothing that would be unpickled or executed as Python."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plain_archive(path, data))) as archive, zipfile.ZipFile(out, "w") as made:
        for info in archive.infolist():
            folder, _, name = info.filename.partition("/")
            if not _NEEDED.fullmatch(name):
                continue
            content = archive.read(info)
            try:
                if name.endswith(".json"):
                    content = _plain_json(path, name, parse_json(content))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(f"{path}: not a file of torch.export, or damaged ({one_line(error)})") from error
            made.writestr(zipfile.ZipInfo(info.filename), content)
            if name == _GRAPH:
                made.writestr(f"{folder}/{_INPUTS}", b"")
    return out.getvalue()


def _plain_json(path: Path, name: str, content: Any) -> bytes:
    if name == _GRAPH:
        return json.dumps(_plain_graph(path, content)).encode()
    for payload in content["config"].values():
        if payload["use_pickle"] is not False or not payload["path_name"].startswith(("weight_", "tensor_")):
            raise InputError(f"{path}: refused: a tensor in it is pickled: export it with plain tensors")
    return json.dumps(content).encode()


def _plain_graph(path: Path, program: dict[str, Any]) -> dict[str, Any]:
    program["guards_code"] = []
    level: list[Any] = [program]
    while level:
        part = level.pop()
        if isinstance(part, dict):
            if "target" in part and "metadata" in part:
                part["metadata"] = {}
            for key, rule in (("target", _OPERATOR), ("expr_str", _SHAPE), ("name", _NAME)):
                value = part.get(key)
                if isinstance(value, str) and not rule.fullmatch(value):
                    raise InputError(f"{path}: refused: its graph has the {key} {shown(value)}, which is not plain")
        level += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return program
