"""SmoothedClassifier(f, noise): votes, predictions and certificates for anyone's f."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.procedures.anytime import Anytime
from smoothcert.procedures.bound import bound_of
from smoothcert.procedures.certificate import Certificate, conclude
from smoothcert.procedures.evidence import Evidence
from smoothcert.procedures.prediction import predict
from smoothcert.procedures.procedure import Procedure, build
from smoothcert.smoothed.drive import Image, drive
from smoothcert.smoothed.votes import Request, Voter, Votes, refuse_training_mode


class SmoothedClassifier:
    """g(x) = argmax_c P[f(x + δ) = c] for any callable f from a batch of images to logits.

    x is one image of `image_dims` dimensions, which gives one result, or a batch with one dimension more, which gives
    a list. `index` names the image: with the seed it decides the noise (a batch counts upwards from a single number).
    `batch` is how many noisy copies f gets at once; "auto" finds the fastest number on the first votes.
    """

    def __init__(
        self,
        f: Callable[[Tensor], Tensor],
        noise: Noise,
        num_classes: int,
        *,
        seed: int = 0,
        batch: int | Literal["auto"] = "auto",
        device: torch.device | str | None = None,
        image_dims: int = 3,
    ) -> None:
        refuse_training_mode(f)
        self.f, self.noise, self.num_classes, self.seed = f, noise, num_classes, seed
        self.image_dims = image_dims
        memory_format = getattr(f, "memory_format", torch.contiguous_format)
        rows = None if batch == "auto" else batch
        self._voter = Voter(f, noise, num_classes, seed, rows, _device_of(f, device), memory_format)

    @property
    def device(self) -> torch.device:
        return self._voter.device

    def votes(self, x: Tensor, n: int, *, stage: str = "estimation", index: int | Sequence[int] = 0) -> Votes:
        """(K,) or (B, K) class counts over n noisy copies of each image; stages are independent of each other."""
        images, indices = self._images(x, index)
        counts = self._count(images, indices, n, stage)
        return counts[0] if x.dim() == self.image_dims else counts

    def predict(self, x: Tensor, n: int = 1000, alpha: float = 0.001, *, index: int | Sequence[int] = 0) -> Any:
        """PREDICT: the class of g, or ABSTAIN where n votes cannot tell it at level α. Prediction, or a list."""
        images, indices = self._images(x, index)
        counts = self._count(images, indices, n, "predict")
        found = [replace(predict(c, alpha), seed=self.seed, index=i) for c, i in zip(counts, indices, strict=True)]
        return found[0] if x.dim() == self.image_dims else found

    def certify(
        self,
        x: Tensor,
        n0: int = 100,
        n: int = 100_000,
        alpha: float = 0.001,
        *,
        index: int | Sequence[int] = 0,
        procedure: str | Procedure = "paper",
        bound: str = "single",
        radii: Sequence[float] | None = None,
        label: int | Sequence[int] | None = None,
    ) -> Any:
        """A class and the radius within which g keeps it, or ABSTAIN. Certificate, or a list of them.

        `procedure` is CERTIFY ("paper"), "curve" or "adaptive", or an object of one's own, which then decides
        alone. Where `label` is given, that class is judged instead of a guess, with fewer votes ("curve", "adaptive").
        """
        if isinstance(procedure, str):
            grid = None if radii is None else tuple(radii)
            aware = label is not None
            procedure = build(procedure, self.noise, n0, n, alpha, bound=bound, radii=grid, label_aware=aware)
        images, indices = self._images(x, index)
        labels = [label] * len(images) if label is None or isinstance(label, int) else label
        asked = [Image(*each) for each in zip(images, indices, labels, strict=True)]
        finished = {id(image): certificate for image, certificate, _ in self.certificates(procedure, asked)}
        found = [finished[id(image)] for image in asked]
        return found[0] if x.dim() == self.image_dims else found

    def certificates(
        self, procedure: Procedure, images: Iterable[Image], room: Callable[[], int] | None = None
    ) -> Iterator[tuple[Image, Certificate, float]]:
        """Certificates of many images as they are finished, with the seconds each took.

        `room` says how many images may be open at once, for callers who share `images` with others.
        """
        if procedure.noise != self.noise:
            raise InputError(f"the procedure is for {procedure.noise}, the classifier is smoothed by {self.noise}")
        yield from drive(self._voter, procedure, images, room)

    def watch(
        self, x: Tensor, n0: int = 100, alpha: float = 0.001, *, step: int = 1000, bound: str = "single", index: int = 0
    ) -> Iterator[Certificate]:
        """Certificates of one image that only improve, one after every `step` votes: stop whenever you like.

        With probability ≥ 1 − α all of them are true: q̄ of an anytime confidence sequence, which has no last vote.
        """
        procedure = Anytime(self.noise, n0, alpha, bound_of(bound))
        (image,), _ = self._images(x, index)
        chosen = Evidence().selected(self._count([image], [index], n0, "selection")[0])
        if step < 1:
            raise InputError(f"step must be at least 1, not {step}")
        best, votes = None, np.zeros(self.num_classes, np.int64)
        while True:
            n = int(votes.sum())
            votes = votes + self._voter.count([Request(image, index, "estimation", n, n + step)])[0]
            found = replace(conclude(procedure, chosen.looked(votes)), seed=self.seed, index=index)
            if best is None or (found.label, found.radius) > (best.label, best.radius):
                best = found
            yield best

    def _count(self, images: Tensor | Sequence[Tensor], indices: Sequence[int], n: int, stage: str) -> Votes:
        if n < 1:
            raise InputError(f"the number of votes must be at least 1, not {n}")
        return self._voter.count([Request(x, i, stage, 0, n) for x, i in zip(images, indices, strict=True)])

    def _images(self, x: Tensor, index: int | Sequence[int]) -> tuple[Tensor, Sequence[int]]:
        if x.dim() not in (self.image_dims, self.image_dims + 1):
            raise InputError(
                f"x has {x.dim()} dimensions; one image has {self.image_dims} and a batch {self.image_dims + 1} "
                "(set image_dims for other data)"
            )
        images = x.unsqueeze(0) if x.dim() == self.image_dims else x
        indices = range(index, index + len(images)) if isinstance(index, int) else index
        if len(indices) != len(images):
            raise InputError(f"{len(images)} images but {len(indices)} indices")
        refuse_values_outside(getattr(self.f, "input_range", None), images)
        return images, indices


def refuse_values_outside(declared: tuple[float, float] | None, images: Tensor) -> None:
    """A radius is in units of the input range: 0 … 255 given to a model of [0, 1] would make it meaningless."""
    if not images.isfinite().all():
        raise InputError("the image contains NaN or infinite values")
    if declared is not None and len(images):
        low, high = float(images.min()), float(images.max())
        if low < declared[0] or high > declared[1]:
            raise InputError(
                f"the image has values in [{low:g}, {high:g}], but the model declares "
                f"[{declared[0]:g}, {declared[1]:g}]: scale the image first"
            )


def _device_of(f: object, device: torch.device | str | None) -> torch.device:
    if device is not None:
        return torch.device(device)
    parameter = next(f.parameters(), None) if isinstance(f, nn.Module) else None
    return torch.device("cpu") if parameter is None else parameter.device
