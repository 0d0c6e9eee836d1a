"""smoothcert predict"""

from __future__ import annotations

import json as jsonlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from smoothcert.cli.machine import Machine
from smoothcert.cli.model import Model
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from smoothcert.certification.target import Target
    from smoothcert.procedures.prediction import Prediction
    from smoothcert.smoothed.classifier import SmoothedClassifier


_HEADER = 2**12  # bytes of a .npy file before its numbers, at most
_FACTOR = 64  # times the model's pixels: larger pictures are not unpacked only to be refused


@dataclass(frozen=True)
class Predict:
    """Predict with a smoothed classifier (PREDICT): images from files, or from the run's test set."""

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
        from smoothcert.certification.target import open_target
        from smoothcert.smoothed.classifier import fresh_seed

        device = self.machine.ready()
        target = open_target(self.run, device, self.model.wishes())
        g = target.smoothed(fresh_seed() if self.seed is None else self.seed, device)
        if self.images:
            for number, path in enumerate(self.images):
                x = read_image(path, target.input_shape)
                self._print(str(path), g.predict(x, self.n, self.alpha, index=number), None)
        else:
            self._test_set(g, target)

    def _test_set(self, g: SmoothedClassifier, target: Target) -> None:
        import torch

        from smoothcert.certification.selection import Selection
        from smoothcert.cli.display import bar

        if target.data is None:
            raise InputError(f"{target.name}: does not say its data: name a data set with --dataset, or give images")
        test_set = self.machine.load(target.data, "test")
        target.require_fit(test_set)
        chosen = Selection(self.every).of(len(test_set))[: self.limit]
        hits = abstained = 0
        with bar() as progress:
            for index in progress.track(chosen, description="predict"):
                x, y = test_set.batch(torch.tensor([index]))
                prediction = g.predict(x[0], self.n, self.alpha, index=index)
                hits += prediction.label == int(y[0])
                abstained += prediction.abstained
                if self.json:
                    self._print(str(index), prediction, int(y[0]))
        if not self.json:
            print(
                f"{self.run}  {len(chosen)} images  correct {100 * hits / len(chosen):.1f}%  abstained {abstained}  "
                f"(n={self.n:,}, alpha={self.alpha:g}, seed={g.seed})"
            )

    def _print(self, name: str, prediction: Prediction, label: int | None) -> None:
        if self.json:
            row = {"image": name, "predict": prediction.label, "p_value": prediction.p_value, "votes": prediction.votes}
            row |= {"n": self.n, "alpha": self.alpha, "seed": prediction.seed}
            print(jsonlib.dumps(row if label is None else row | {"label": label}))
            return
        top = max(prediction.votes)
        said = "abstain" if prediction.abstained else f"class {prediction.label}"
        print(
            f"{name}  {said}  {top} of {self.n} votes  p-value {prediction.p_value:.2g}  alpha {self.alpha:g}  "
            f"seed {prediction.seed}"
        )


def read_image(path: Path, shape: tuple[int, ...]) -> Tensor:
    """A picture or .npy array as the model wants it: (C, H, W) in [0, 1]. Resizing is left to the user."""
    import numpy as np
    import torch

    from smoothcert.data.image import decoded
    from smoothcert.records.reading import parse_array, read_bytes

    channels, height, width = shape
    wanted = f"the model takes {channels}×{height}×{width}"
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        if path.suffix == ".npy":
            array = parse_array(read_bytes(path, _HEADER + 8 * channels * height * width))
            if array.dtype.kind not in "biuf":
                raise InputError(f"{path}: holds {array.dtype}, not numbers")
            array = array.astype(np.float32)
            array = array.reshape(shape) if array.size == channels * height * width else array
        else:
            picture = decoded(str(path), most_pixels=_FACTOR * height * width)
            array = np.asarray(picture.convert("L" if channels == 1 else "RGB"), np.float32) / 255
            array = array[None] if channels == 1 else array.transpose(2, 0, 1)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{error}: cannot be read as an image; {wanted}") from error
    if array.shape != shape:
        raise InputError(f"{path}: is {'×'.join(map(str, array.shape))}, {wanted}: resize it first")
    return torch.from_numpy(np.ascontiguousarray(array))
