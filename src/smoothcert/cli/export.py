"""smoothcert export"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Export:
    """Write a run's network for other programs, after checking that it predicts the same there."""

    run: Positional[Path]
    """run folder"""
    onnx: Path | None = None
    """ONNX file to write (needs the extra `onnx`)"""
    safetensors: Path | None = None
    """safetensors file of the folded weights to write"""
    precision: Literal["float32", "bfloat16"] | None = None
    """of the network (default: as it was trained); bfloat16 votes 1.6 to 2 times as fast on a CPU that has it"""
    trust: bool = False
    """of a run with a network of your own: also where its source has changed since it was trained"""

    def __call__(self) -> None:
        import torch

        from smoothcert import open_target
        from smoothcert.files.writing import refuse_to_replace
        from smoothcert.interchange.export import export_onnx, export_safetensors
        from smoothcert.records.run_folder import RunFolder

        if self.onnx is None and self.safetensors is None:
            raise InputError("export to what? give --onnx FILE or --safetensors FILE")
        for out in filter(None, (self.onnx, self.safetensors)):
            refuse_to_replace(out, (self.run, RunFolder(self.run).model))
        target = open_target(self.run, device="cpu", precision=self.precision, trust=self.trust)
        assert isinstance(target.f, torch.nn.Module)  # a run of ours always is one
        for path, export in ((self.onnx, export_onnx), (self.safetensors, export_safetensors)):
            if path is not None:
                agreement = export(target.f, path, target.about)
                print(
                    f"{path}  logits agree on {agreement.images} images to {agreement.max_difference:.1e} "
                    f"(largest logit {agreement.max_logit:.1f})"
                )
