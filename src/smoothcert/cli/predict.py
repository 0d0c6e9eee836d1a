"""smoothcert predict"""

from __future__ import annotations

import json as jsonlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.model import Model

if TYPE_CHECKING:
    from smoothcert.certification.predict_run import Predicted


@dataclass(frozen=True)
class Predict:
    """Predict with a smoothed classifier (PREDICT): images from files, or from the run's test set.

    Under grid noise an image beside the grid of 8-bit images is rounded to it first, and the line says so.
    """

    run: Positional[str]
    """run folder, or a model: FILE.onnx, FILE.pth.tar, package.module:factory, timm:NAME, torchvision:NAME"""
    images: Positional[tuple[Path, ...]] = ()
    """picture files (or .npy arrays in [0, 1]); none: the test set"""
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
    """one JSON object per image"""
    model: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.certification.predict_run import predict_run
        from smoothcert.cli.display import shown

        names = ("n", "alpha", "every", "limit", "seed")
        options = {name: getattr(self, name) for name in names}
        work = predict_run(self.run, self.images, **options, **self.model.options(self.machine))
        if self.images or self.json:
            for found in work:
                self._print(found)
            return
        everything = shown(work, "predict")
        count = len(everything)
        hits = sum(found.prediction.label == found.label for found in everything)
        abstained = sum(found.prediction.abstained for found in everything)
        print(
            f"{self.run}  {count} images  correct {100 * hits / count:.1f}%  abstained {abstained}  "
            f"(n={self.n:,}, alpha={self.alpha:g}, seed={everything[0].prediction.seed})"
        )

    def _print(self, found: Predicted) -> None:
        name, label, prediction = found.image, found.label, found.prediction
        if self.json:
            row = {"image": name, "predict": prediction.label, "p_value": prediction.p_value, "votes": prediction.votes}
            row |= {"n": self.n, "alpha": self.alpha, "seed": prediction.seed, "precision": prediction.precision}
            row |= {"rounded": True} if prediction.rounded else {}
            print(jsonlib.dumps(row if label is None else row | {"label": label}))
            return
        print(
            f"{name}  {found}  {max(prediction.votes)} of {self.n} votes  p-value {prediction.p_value:.2g}  "
            f"alpha {self.alpha:g}  seed {prediction.seed}" + "  (rounded to 1/255)" * prediction.rounded
        )
