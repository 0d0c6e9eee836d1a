"""smoothcert certify"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from smoothcert.cli.machine import Machine
from smoothcert.cli.model import Model
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.certification.crew import Crew
    from smoothcert.certification.selection import Selection
    from smoothcert.certification.target import Target
    from smoothcert.procedures.procedure import Procedure
    from smoothcert.smoothed.classifier import SmoothedClassifier


@dataclass(frozen=True)
class Certify:
    """Certify a trained run on its test set. Called again, it goes on where it was stopped.

    paper is CERTIFY of Cohen et al. (2019). curve finds which radii of a grid are certified, with a tenth of the votes:
    for certified accuracies, not for an average radius. adaptive plans the votes of each image: for average radii.
    """

    run: Positional[str]
    """run folder, or a model: FILE.onnx, FILE.pth.tar, package.module:factory, timm:NAME, torchvision:NAME"""
    n0: int = 100
    """votes that choose the class"""
    n: int = 100_000
    """fresh votes that judge it"""
    alpha: float = 0.001
    """failure probability of each certificate"""
    procedure: Literal["paper", "curve", "adaptive"] = "paper"
    """who decides how many votes an image gets; n is the number that curve and adaptive compete with"""
    bound: Literal["single", "pair"] = "single"
    """pair: also bounds the second class (larger radii, Gaussian noise only), reported under its own name"""
    radii: tuple[float, ...] | None = None
    """grid of curve and adaptive (default: 0, 0.25, … as far as n votes reach)"""
    label_aware: bool = False
    """curve, adaptive: judge the image's label instead of a guess; wrong images then count as abstained"""
    every: int = 1
    """certify every k-th image: a fair sample, which the first k are not; 10 goes on with a log of 100"""
    range: tuple[int, int] | None = None
    """only images FROM … TO − 1"""
    limit: int | None = None
    """stop after this many images; a later call can go on"""
    shard: str | None = None
    """I/N: every N-th image from the I-th on, into a part of the log: for N jobs that know nothing of each other"""
    seed: int = 0
    """decides the noise, together with the image's index"""
    batch: int | Literal["auto"] = "auto"
    """noisy copies per forward pass; auto: the fastest of a few"""
    out: Path | None = None
    """log file (default: certify.jsonl in the run folder, MODEL.certify.jsonl for others' models)"""
    model: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.certification.crew import crew_of
        from smoothcert.certification.selection import Selection
        from smoothcert.certification.target import open_target
        from smoothcert.machine.processes import place
        from smoothcert.procedures.procedure import build

        selection = Selection(self.every, *(self.range or (0, None)))
        device = self.machine.ready()
        target = open_target(self.run, device, self.model.wishes())
        options = {"bound": self.bound, "radii": self.radii, "label_aware": self.label_aware}
        procedure = build(self.procedure, target.noise, self.n0, self.n, self.alpha, **options)  # type: ignore[arg-type]
        g = target.smoothed(self.seed, device, self.batch)
        crew = crew_of(place(), self.shard)
        log = certify_showing(target, g, procedure, selection, self.machine, self.limit, self.out, crew)
        if not crew.leads:
            return
        from smoothcert.analysis import read_results, summarize
        from smoothcert.analysis.tables import floored
        from smoothcert.certification.parts import files_of, read_whole

        s = summarize(read_results(log), [(self.radii or (0.0,))[0]])
        acr = "" if s.acr is None else f"ACR {s.acr:.3f} ± {s.acr_standard_error:.3f}  "
        ((least, accuracy),) = s.certified_accuracy.items()
        where = "" if least == 0 else f" at radius {least:g}"
        votes = [sum(row["selection"].values()) + sum(row["estimation"].values()) for row in read_whole(log).rows]
        kind = "" if self.procedure == "paper" and self.bound == "single" else f"{self.procedure}, {self.bound} bound, "
        reduced = (target.about.get("recipe") or {}).get("reduced")
        marked = f"  reduced run ({reduced})" if reduced else ""
        parts = f" ({len(files_of(log))} files)" if files_of(log) != [log] else ""
        print(
            f"{log}{parts}  {s.images} of {s.selected} images  "
            f"{acr}certified accuracy {100 * (accuracy or 0.0):.1f}%{where}  "
            f"abstained {s.abstained}  ({kind}n={self.n:,}, alpha={self.alpha:g}, "
            f"{sum(votes) / len(votes):,.0f} votes/image, largest radius {floored(s.largest_radius or 0.0, 3)}){marked}"
        )


def certify_showing(
    target: Target,
    g: SmoothedClassifier,
    procedure: Procedure,
    selection: Selection,
    machine: Machine,
    limit: int | None = None,
    out: Path | None = None,
    crew: Crew | None = None,
) -> Path:
    """Certify what is missing with a progress bar; the log it is written to."""
    from smoothcert.certification.crew import Crew
    from smoothcert.certification.run import certify_images
    from smoothcert.cli.display import bar

    if target.data is None:
        raise InputError(f"{target.name}: does not say its data: name a data set with --dataset")
    test_set = machine.load(target.data, "test")
    target.require_fit(test_set)
    log, crew = out or target.log, crew or Crew()
    images = selection.of(len(test_set))[:limit]
    with bar() as progress:
        task = progress.add_task(f"certify {target.name}", total=len(images), note="")
        radii, correct, known, note = 0.0, 0, 0, ""

        def show() -> None:
            left = len(images) - known if crew.todo is None else crew.todo
            progress.update(task, completed=known + crew.written, total=known + left, note=note)

        rows = certify_images(g, test_set, log, procedure, selection, target.name, target.about, limit, crew, show)
        for seen, row in enumerate(rows, 1):
            radii, correct = radii + row["radius"] * row["correct"], correct + row["correct"]
            so_far = (
                f"ACR {radii / seen:.3f}" if not procedure.floors_radii else f"certified {100 * correct / seen:.1f}%"
            )
            note = f"{so_far}  {row['seconds']:.1f} s/image"
            known += crew.todo is None  # rows of earlier calls come first
            show()
    return log
