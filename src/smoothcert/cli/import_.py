"""smoothcert import"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Import:
    """Turn a checkpoint of locuslab/smoothing, smoothing-adversarial, MACER or the paper's code into a run folder."""

    checkpoint: Positional[Path]
    """.pth.tar, .pth or .pt file; nothing in it is executed"""
    out: Path
    """run folder to make"""
    sigma: float
    """Gaussian noise it was trained with: such files do not say"""
    dataset: str
    """data set it was trained on"""
    arch: str | None = None
    """its network, where the file does not name it (such as cifar_resnet110)"""
    normalization: str | None = None
    """standard, center or none (default: guessed from the file's layout)"""

    def __call__(self) -> None:
        from smoothcert.data import DATASETS
        from smoothcert.errors import did_you_mean
        from smoothcert.files.environment import environment
        from smoothcert.interchange.foreign_checkpoint import import_checkpoint
        from smoothcert.interchange.weights import save_weights
        from smoothcert.noise import Gaussian
        from smoothcert.recipes import to_dict
        from smoothcert.records.run_folder import RunFolder

        if self.dataset not in DATASETS:
            raise InputError(f"unknown data set {self.dataset!r}{did_you_mean(self.dataset, DATASETS)}")
        run, noise = RunFolder(self.out), Gaussian(self.sigma)
        if run.model.exists() or run.recipe.exists():
            raise InputError(f"{self.out}: holds a run already: choose another --out")
        loaded = import_checkpoint(self.checkpoint, self.arch, None, self.normalization)
        run.path.mkdir(parents=True, exist_ok=True)
        about = {
            "model": loaded.about["name"],
            "num_classes": loaded.about["num_classes"],
            "normalization": loaded.about["normalization"],
            "noise": to_dict(noise),
            "dataset": self.dataset,
            "imported": loaded.about,
            "environment": environment(),
        }
        save_weights(run.model, loaded.f.state_dict(), about)
        said = f"{about['model']}, {about['num_classes']} classes, normalization {about['normalization']}"
        print(f"{self.out}  {said} ({loaded.about['normalization_from']})  (next: smoothcert certify {self.out})")
