"""smoothcert certify"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from smoothcert.cli.machine import Machine
from smoothcert.cli.model import Model
from smoothcert.errors import InputError

if TYPE_CHECKING:
    import torch

    from smoothcert.certification.run import Settings
    from smoothcert.certification.selection import Selection
    from smoothcert.certification.target import Target


@dataclass(frozen=True)
class Certify:
    """Certify a trained run on its test set (CERTIFY). Called again, it goes on where it was stopped."""

    run: Positional[str]
    """run folder, or a model: FILE.onnx, FILE.pth.tar, package.module:factory, timm:NAME, torchvision:NAME"""
    n0: int = 100
    """votes that choose the class"""
    n: int = 100_000
    """fresh votes that judge it"""
    alpha: float = 0.001
    """failure probability of each certificate"""
    every: int = 1
    """certify every k-th image (a fair sample, which the first k are not)"""
    range: tuple[int, int] | None = None
    """only images FROM … TO − 1"""
    limit: int | None = None
    """stop after this many images; a later call can go on"""
    seed: int = 0
    """decides the noise, together with the image's index"""
    batch: int = 250
    """noisy copies per forward pass"""
    out: Path | None = None
    """log file (default: certify.jsonl in the run folder, MODEL.certify.jsonl for others' models)"""
    model: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.certification.run import Settings
        from smoothcert.certification.selection import Selection
        from smoothcert.certification.target import open_target

        settings = Settings(self.n0, self.n, self.alpha, self.seed)
        selection = Selection(self.every, *(self.range or (0, None)))
        device = self.machine.ready()
        target = open_target(self.run, device, self.model.wishes())
        log = certify_showing(target, settings, selection, device, self.machine, self.batch, self.limit, self.out)
        from smoothcert.analysis import read_results, summarize
        from smoothcert.analysis.tables import floored

        s = summarize(read_results(log), [0.0])
        print(
            f"{log}  {s.images} of {s.selected} images  ACR {s.acr:.3f} ± {s.acr_standard_error:.3f}  "
            f"certified accuracy {100 * s.certified_accuracy[0.0]:.1f}%  abstained {s.abstained}  "
            f"(n={self.n:,}, alpha={self.alpha:g}, largest radius {floored(s.largest_radius or 0.0, 3)})"
        )


def certify_showing(
    target: Target,
    settings: Settings,
    selection: Selection,
    device: torch.device,
    machine: Machine,
    batch: int = 250,
    limit: int | None = None,
    out: Path | None = None,
) -> Path:
    """Certify what is missing with a progress bar; the log it is written to."""
    from smoothcert.certification.run import certify_images
    from smoothcert.cli.display import bar
    from smoothcert.files import sole_owner
    from smoothcert.smoothed.certify import require_enough
    from smoothcert.smoothed.classifier import SmoothedClassifier

    require_enough(settings.n, settings.alpha)
    if target.data is None:
        raise InputError(f"{target.name}: does not say its data: name a data set with --dataset")
    test_set = machine.load(target.data, "test")
    target.require_fit(test_set)
    g = SmoothedClassifier(target.f, target.noise, target.num_classes, seed=settings.seed, batch=batch, device=device)
    log = out or target.log
    images = selection.of(len(test_set))[:limit]
    with sole_owner(log.parent, log.name), bar() as progress:
        task = progress.add_task(f"certify {target.name}", total=len(images), note="")
        radii = 0.0
        rows = certify_images(g, test_set, log, settings, selection, target.name, target.about, limit)
        for done, row in enumerate(rows, 1):
            radii += row["radius"] * row["correct"]
            progress.update(task, completed=done, note=f"ACR {radii / done:.3f}  {row['seconds']:.1f} s/image")
    return log
