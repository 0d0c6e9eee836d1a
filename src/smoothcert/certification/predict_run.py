"""predict_run: a run or any model, and images → predictions of the smoothed classifier."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
import torch

from smoothcert.certification.target import ModelOptions, Target, open_target
from smoothcert.data import ImageSet, own_of
from smoothcert.data.own_pictures import exact_pixels
from smoothcert.errors import InputError
from smoothcert.files.reading import parse_array, read_bytes
from smoothcert.machine.work import work
from smoothcert.procedures.prediction import require_votes
from smoothcert.records.selection import Selection, require_limit
from smoothcert.smoothed.classifier import fresh_seed

if TYPE_CHECKING:
    from smoothcert.procedures.prediction import Prediction

_HEADER = 2**12  # bytes of a .npy file before its numbers, at most
_FACTOR = 64  # times the model's pixels: larger pictures are not unpacked only to be refused


@dataclass(frozen=True)
class Predicted:
    """One image has its prediction."""

    image: str
    """file, or index in the test set"""
    label: int | None
    """the true one, where it is known"""
    prediction: Prediction
    done: int
    total: int
    note: str = ""
    """what the caller should hear, such as that σ is not that of the training"""

    def __str__(self) -> str:
        return "abstain" if self.prediction.abstained else f"class {self.prediction.label}"


@work
def predict_run(
    run: str | os.PathLike[str],
    images: Sequence[str | os.PathLike[str]] = (),
    *,
    n: int = 1000,
    alpha: float = 0.001,
    every: int = 1,
    limit: int | None = None,
    seed: int | None = None,
    **options: Unpack[ModelOptions],
) -> Generator[Predicted, None, list[Predicted]]:
    """Predict with a smoothed classifier: images from files, or the test set.

    Under grid noise an image beside the grid 0, 1/255, …, 1 is rounded to it first: `prediction.rounded` says so.

    Args:
        run: a run folder, or a model: FILE.onnx, TorchScript, FILE.pt2, FILE.pth.tar, package.module:factory,
            timm:NAME, torchvision:NAME
        images: picture files, or .npy arrays in [0, 1]; or one folder of pictures, .npz file or package.module:name
            (default: the test set)
        n: votes per image
        alpha: probability of a label that is not the smoothed classifier's, per image
        every: of the test set, every k-th image
        limit: of the test set, at most this many images
        seed: decides the noise, together with the image's number (default: a fresh one that nobody knows before)
        options: data, device, threads, workers as for `train`; for others' models noise, dataset, arch, num_classes,
            input_shape, normalization; for one's own images dataset="images/", labels="labels.csv", classes

    Returns:
        work: iterate over its events (`Predicted`), or call `finish()`, which gives all of them

    Example:
        >>> predict_run("runs/my-run", ["seven.png"]).finish()[0].prediction.label  # doctest: +SKIP
        7
    """
    require_limit(limit)
    require_votes(n, alpha)
    if len(images) == 1 and _is_set(images[0]):
        if options.get("dataset") is not None:
            raise InputError(
                f"the images are {images[0]}, or those of --dataset {options['dataset']}: name one of them"
            )
        options["dataset"], images = os.fspath(images[0]), ()
    target = open_target(run, **options)
    g = target.smoothed(fresh_seed(target.noise) if seed is None else seed)
    found: list[Predicted] = []
    if images:
        total, given = len(images), _files(target, [Path(image) for image in images])
    else:
        test_set = target.images()
        chosen = Selection(every).fair(len(test_set))[:limit]
        total, given = len(chosen), _of_test_set(test_set, chosen)
    for name, index, x, label in given:
        found.append(Predicted(name, label, g.predict(x, n, alpha, index=index), len(found) + 1, total, target.note))
        yield found[-1]
    return found


_Given = Iterator[tuple[str, int, torch.Tensor, int | None]]  # name, index, x, label


def _files(target: Target, paths: Sequence[Path]) -> _Given:
    for number, path in enumerate(paths):
        yield str(path), number, read_image(path, target.input_shape), None


def _of_test_set(test_set: ImageSet, chosen: range) -> _Given:
    own = own_of(test_set)
    for index in chosen:
        x, y = test_set.batch(torch.tensor([index]))
        name = own.names[index] if own is not None and own.names else str(index)
        yield name, index, x[0], int(y[0]) if y[0] >= 0 else None


def _is_set(spec: str | os.PathLike[str]) -> bool:
    path = Path(spec)
    return path.is_dir() or path.suffix == ".npz" or (":" in os.fspath(spec) and not path.exists())


def read_image(path: Path, shape: tuple[int, ...]) -> torch.Tensor:
    """A picture or .npy array as the model wants it: (C, H, W) in [0, 1]. Resizing is left to the user."""
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
            array = exact_pixels(path, _FACTOR * height * width).astype(np.float32) / 255
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{error}: cannot be read as an image; {wanted}") from error
    if array.shape != shape:
        raise InputError(f"{path}: is {'×'.join(map(str, array.shape))}, {wanted}: resize or convert it first")
    return torch.from_numpy(np.ascontiguousarray(array))
