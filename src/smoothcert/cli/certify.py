"""smoothcert certify"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tyro.conf import Positional

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.model import Model
from smoothcert.cli.options.progress import Progress
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.records.log import CertificationLog

_SHOWN = 20  # images without labels


@dataclass(frozen=True)
class Certify:
    """Certify a trained run, or any model, on its test set or on your own images. Called again, it goes on where it was
    stopped.

    paper is CERTIFY of Cohen et al. (2019). curve finds which radii of a grid are certified, with a twentieth to a
    fifth of the votes: for certified accuracies, not for an average radius. adaptive plans the votes of each image: for
    average radii.
    --budget shares a number of votes out among all images: the average radius that so many votes can buy.

    Example: smoothcert certify runs/mnist-gaussian-0.50-seed0 --n 10000 --every 10

    Example: smoothcert certify model.onnx images/ --labels labels.csv --sigma 0.25
    """

    run: Positional[str]
    """run folder, or a model: FILE.onnx, TorchScript, FILE.pt2, weights (FILE.pth.tar, .pt), package.module:factory,
    timm:NAME, torchvision:NAME"""
    images: Positional[str | None] = None
    """your own images, instead of the test set: a folder of pictures (with --labels, or a folder per class), a picture,
    .npy, .npz, package.module:name"""
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
    radius: float | None = None
    """ask only whether an image is robust at this radius: curve with this one radius, 100 to 10,000 votes an image"""
    budget: int | None = None
    """votes for all selected images together, spent where they add most to the average radius: n0 of each image decide
    how many more it gets, at most n"""
    label_aware: bool = False
    """judge the image's label instead of a guess: wrong images then count as abstained; paper hardly votes on them, and
    its certified accuracy and average radius are the same as without"""
    every: int = 1
    """certify every k-th image, such as 10: a fair sample, which the first images are not; a log of every 100th image
    is completed, and no image is certified twice"""
    range: tuple[int, int] | None = None
    """only images FROM … TO − 1"""
    limit: int | None = None
    """stop after this many images; a later call can go on"""
    shard: str | None = None
    """I/N: every N-th image from the I-th on, into a part of the log: for N jobs that know nothing of each other"""
    seed: int | Literal["secret"] = 0
    """decides the noise, together with the image's index; secret: 256 bits that nobody knows, kept in LOG.secret until
    `smoothcert reveal`, and committed to in the log"""
    batch: int | Literal["auto"] = "auto"
    """noisy copies per forward pass; auto: the fastest of a few"""
    out: Path | None = None
    """log file (default: certify.jsonl in the run folder, MODEL.certify.jsonl for others' models)"""
    json: bool = False
    """print one JSON document"""
    progress: Progress = "auto"
    model: str | None = None
    """package.module:factory that builds the network of a file of weights (state_dict)"""
    others: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.certification.certify_run import certify_run
        from smoothcert.cli.display import shown
        from smoothcert.machine.processes import place

        if self.radius is not None:
            return self._of_one_radius()()
        start, stop = self.range or (0, None)
        names = ("n0", "n", "alpha", "procedure", "bound", "radii", "label_aware", "budget", "every", "limit")
        options = {name: getattr(self, name) for name in (*names, "shard", "seed", "batch")}
        about = self.others.options(self.machine, self.images, self.model)
        work = certify_run(self.run, self.out, start=start, stop=stop, **options, **about)
        log = shown(work, f"certify {Path(self.run).name}", self.progress)
        if place().first:
            (self._print_json if self.json else self._print)(log)

    def _of_one_radius(self) -> Certify:
        if self.radii is not None or self.procedure == "adaptive" or self.budget is not None:
            raise InputError("--radius asks about one radius: leave out --radii, --procedure and --budget")
        return replace(self, procedure="curve", radii=(self.radius or 0.0,), radius=None)

    def _print_json(self, log: Path) -> None:
        from smoothcert.analysis import read_results, summarize
        from smoothcert.analysis.metrics import default_radii
        from smoothcert.analysis.tables import as_dict
        from smoothcert.cli.display import print_json
        from smoothcert.records.parts import files_of, read_whole

        whole = read_whole(log)
        header = whole.header
        about: dict[str, Any] = {
            "log": str(log),
            "files": [str(file) for file in files_of(log)],
            "procedure": header.procedure and header.procedure.name,
            "bound": header.bound,
            "label_aware": header.procedure is not None and header.procedure.label_aware,
            "seed": header.seed,
            "votes": votes_of(whole),
            "reduced": None if header.recipe is None else header.recipe.reduced,
        }
        if not header.labelled or not whole.rows:
            said = ("index", "file", "predict", "radius")
            print_json(about | {"rows": [{key: row.get(key) for key in said} for row in whole.rows]})
            return
        results = read_results(log)
        print_json(about | as_dict(summarize(results, default_radii([results]))))

    def _print(self, log: Path) -> None:
        from smoothcert.analysis import read_results, summarize
        from smoothcert.analysis.tables import floored
        from smoothcert.records.parts import files_of, read_whole

        whole = read_whole(log)
        if not whole.rows:
            return print(f"{log}  0 of {whole.header.selected} images")
        if not whole.header.labelled:
            return print_unlabelled(whole)
        results = read_results(log)
        s = summarize(results, [(self.radii or (0.0,))[0]])
        error = f"{s.acr_standard_error:.3f}" if s.images > 1 else "–"
        acr = "" if s.acr is None else f"ACR {s.acr:.3f} ± {error}  "
        ((least, accuracy),) = s.certified_accuracy.items()
        where = "" if least == 0 else f" at radius {least:g}"
        procedure = self.procedure if self.budget is None else f"budget {self.budget:,}"
        kind = "" if procedure == "paper" and self.bound == "single" else f"{procedure}, {self.bound} bound, "
        kind += "label-aware, " if self.label_aware else ""
        recipe = results.header.recipe
        marked = f"  reduced run ({recipe.reduced})" if recipe is not None and recipe.reduced else ""
        largest = "" if s.largest_radius is None else f", largest radius {floored(s.largest_radius, 3)}"
        parts = f" ({len(files_of(log))} files)" if files_of(log) != [log] else ""
        print(
            f"{log}{parts}  {s.images} of {s.selected} images  "
            f"{acr}certified accuracy {100 * (accuracy or 0.0):.1f}%{where}  "
            f"abstained {s.abstained}  ({kind}n={self.n:,}, alpha={self.alpha:g}, "
            f"{votes_of(whole) / s.images:,.0f} votes/image{largest}){marked}"
        )


def votes_of(log: CertificationLog) -> int:
    """All that its certificates rest on."""
    return sum(sum(row["selection"].values()) + sum(row["estimation"].values()) for row in log.rows)


def print_unlabelled(log: CertificationLog) -> None:
    """Without labels there is no accuracy: each image's class and radius, and how many abstained."""
    from smoothcert.analysis.tables import floored
    from smoothcert.procedures.certificate import ABSTAIN

    for row in log.rows[:_SHOWN]:
        said = f"class {row['predict']}  radius {floored(row['radius'], 4)}"
        print(f"{row.get('file', row['index'])}  {'abstain' if row['predict'] == ABSTAIN else said}")
    if len(log.rows) > _SHOWN:
        print(f"… {len(log.rows) - _SHOWN} more in the log")
    abstained = sum(row["predict"] == ABSTAIN for row in log.rows)
    print(f"{log.path}  {len(log.rows)} images  abstained {abstained}  (no labels: neither accuracy nor ACR is known)")
