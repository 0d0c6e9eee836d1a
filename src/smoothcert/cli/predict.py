"""smoothcert predict"""

from __future__ import annotations

import csv as csvlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from smoothcert.cli import complain
from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.model import Model
from smoothcert.cli.options.progress import Progress
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.certification.predict_run import Predicted


@dataclass(frozen=True)
class Predict:
    """Predict with a smoothed classifier (PREDICT): images from files, or from the run's test set.

    Under grid noise an image beside the grid of 8-bit images is rounded to it first, and the line says so.
    """

    run: Positional[str]
    """run folder, or a model: FILE.onnx, TorchScript, FILE.pt2, weights (FILE.pth.tar, .pt), package.module:factory,
    timm:NAME, torchvision:NAME"""
    images: Positional[tuple[Path, ...]] = ()
    """picture files (or .npy arrays in [0, 1]); or one folder of pictures, .npz or package.module:name; none: the test
    set"""
    n: int = 1000
    """votes per image"""
    alpha: float = 0.001
    """probability of a label that is not the smoothed classifier's, per image"""
    every: int = 1
    """of the test set, every k-th image"""
    limit: int | None = None
    """of the test set, at most this many images"""
    seed: int | None = None
    """decides the noise, together with the image's number; by default a fresh one that nobody knows before, printed"""
    json: bool = False
    """print one JSON document, a list with an object per image"""
    csv: bool = False
    """one line of CSV per image, below a line with the names of the columns"""
    progress: Progress = "auto"
    model: str | None = None
    """package.module:factory that builds the network of a file of weights (state_dict)"""
    others: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.certification.predict_run import predict_run
        from smoothcert.cli.display import print_json, shown

        names = ("n", "alpha", "every", "limit", "seed")
        options = {name: getattr(self, name) for name in names}
        if self.json and self.csv:
            raise InputError("--json and --csv exclude each other")
        about = self.others.options(self.machine, None, self.model)
        work = predict_run(self.run, self.images, **options, **about)
        if self.csv or (self.images and not self.json):
            for found in work:
                if found.done == 1 and found.note:
                    complain(found.note)
                self._print(found)
            return
        everything = shown(work, "predict", self.progress)
        if self.json:
            print_json([self._entry(found) for found in everything])
            return
        count = len(everything)
        labelled = [found for found in everything if found.label is not None]
        hits = sum(found.prediction.label == found.label for found in labelled)
        correct = f"correct {100 * hits / len(labelled):.1f}%  " if labelled else ""
        abstained = sum(found.prediction.abstained for found in everything)
        print(
            f"{self.run}  {count} images  {correct}abstained {abstained}  "
            f"(n={self.n:,}, alpha={self.alpha:g}, seed={everything[0].prediction.seed})"
        )

    def _entry(self, found: Predicted) -> dict[str, Any]:
        p = found.prediction
        entry = {"image": found.image, "predict": p.label, "p_value": p.p_value, "votes": p.votes, "n": self.n}
        entry |= {"alpha": self.alpha, "seed": p.seed, "precision": p.precision}
        entry |= {"rounded": True} if p.rounded else {}
        return entry if found.label is None else entry | {"label": found.label}

    def _print(self, found: Predicted) -> None:
        if self.csv:
            return self._print_csv(self._entry(found), found.done == 1)
        prediction = found.prediction
        print(
            f"{found.image}  {found}  {max(prediction.votes)} of {self.n} votes  p-value {prediction.p_value:.2g}  "
            f"alpha {self.alpha:g}  seed {prediction.seed}" + "  (rounded to 1/255)" * prediction.rounded
        )

    def _print_csv(self, row: dict[str, Any], first: bool) -> None:
        """A column per class would be many: the votes are those of the class with most."""
        columns = ("image", "predict", "votes", "n", "p_value", "alpha", "seed", "precision", "rounded", "label")
        out = csvlib.writer(sys.stdout, lineterminator="\n")
        if first:
            out.writerow(columns)
        row |= {"votes": max(row["votes"]), "rounded": int(row.get("rounded", False))}
        out.writerow([row.get(name, "") for name in columns])
