"""Programs of torch.export, .pt2."""

from __future__ import annotations

import io
from pathlib import Path

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError


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
    program = torch.export.load(io.BytesIO(data))
    names = program.graph_signature.user_inputs
    if len(names) != 1 or len(program.graph_signature.user_outputs) != 1:
        raise InputError(f"{path}: has {len(names)} inputs, or several outputs: export f(images) → logits")
    value = next(node.meta["val"] for node in program.graph.nodes if node.name == names[0])
    batch, *shape = value.shape
    if not shape or not all(isinstance(size, int) for size in shape) or value.dtype != torch.float32:
        raise InputError(f"{path}: takes {value.dtype} {tuple(value.shape)}: export it for float32 images of one size")
    return Exported(program.module(check_guards=False), batch if isinstance(batch, int) else None, tuple(shape))
