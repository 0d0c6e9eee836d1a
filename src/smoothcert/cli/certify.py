"""smoothcert certify"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from smoothcert.cli.machine import Machine

if TYPE_CHECKING:
    import torch

    from smoothcert.certification.run import Settings
    from smoothcert.certification.selection import Selection


@dataclass(frozen=True)
class Certify:
    """Certify a trained run on its test set (CERTIFY). Called again, it goes on where it was stopped."""

    run: Positional[Path]
    """run folder, or the weights file of one"""
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
    """log file (default: certify.jsonl in the run folder)"""
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.certification.run import Settings
        from smoothcert.certification.selection import Selection

        settings = Settings(self.n0, self.n, self.alpha, self.seed)
        selection = Selection(self.every, *(self.range or (0, None)))
        log = certify_showing(
            self.run, settings, selection, self.machine.ready(), self.machine.data, self.batch, self.limit, self.out
        )
        from smoothcert.analysis import read_results, summarize

        s = summarize(read_results(log), [0.0])
        print(
            f"{log}  {s.images} of {s.selected} images  ACR {s.acr:.3f} ± {s.acr_standard_error:.3f}  "
            f"certified accuracy {100 * s.certified_accuracy[0.0]:.1f}%  abstained {s.abstained}  "
            f"(n={self.n:,}, alpha={self.alpha:g}, largest radius {s.largest_radius:.3f})"
        )


def certify_showing(
    run: Path,
    settings: Settings,
    selection: Selection,
    device: torch.device,
    data: Path | None,
    batch: int = 250,
    limit: int | None = None,
    out: Path | None = None,
) -> Path:
    """Certify what is missing with a progress bar; the log it is written to."""
    from smoothcert.certification.open_run import open_run
    from smoothcert.certification.run import certify_images
    from smoothcert.cli.show import bar
    from smoothcert.data import load
    from smoothcert.files import sole_owner
    from smoothcert.smoothed.certify import require_enough
    from smoothcert.smoothed.classifier import SmoothedClassifier

    require_enough(settings.n, settings.alpha)
    opened = open_run(run)
    test_set = load(opened.recipe.data, "test", data)
    f, noise, num_classes = opened.network(device), opened.recipe.objective.noise, opened.num_classes
    g = SmoothedClassifier(f, noise, num_classes, seed=settings.seed, batch=batch, device=device)
    log = out or opened.folder.certification_log
    images = selection.of(len(test_set))[:limit]
    with sole_owner(log.parent, log.name), bar() as progress:
        task = progress.add_task(f"certify {opened.name}", total=len(images), note="")
        radii = 0.0
        for done, row in enumerate(
            certify_images(g, test_set, log, settings, selection, opened.name, opened.about, limit), 1
        ):
            radii += row["radius"] * row["correct"]
            progress.update(task, completed=done, note=f"ACR {radii / done:.3f}  {row['seconds']:.1f} s/image")
    return log
