"""SmoothedClassifier(f, noise): votes, predictions and certificates for anyone's f."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.smoothed.certify import certify, predict, require_enough
from smoothcert.smoothed.votes import Request, Voter, Votes, refuse_training_mode


class SmoothedClassifier:
    """g(x) = argmax_c P[f(x + δ) = c] for any callable f from a batch of images to logits.

    x is one image of `image_dims` dimensions, which gives one result, or a batch with one dimension more, which gives
    a list. `index` names the image: with the seed it decides the noise (a batch counts upwards from a single number).
    """

    def __init__(
        self,
        f: Callable[[Tensor], Tensor],
        noise: Noise,
        num_classes: int,
        *,
        seed: int = 0,
        batch: int = 500,
        device: torch.device | str | None = None,
        image_dims: int = 3,
    ) -> None:
        refuse_training_mode(f)
        self.f, self.noise, self.num_classes, self.seed = f, noise, num_classes, seed
        self.image_dims = image_dims
        memory_format = getattr(f, "memory_format", torch.contiguous_format)
        self._voter = Voter(f, noise, num_classes, seed, batch, _device_of(f, device), memory_format)

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
    ) -> Any:
        """CERTIFY: a class and the radius within which g keeps it, or ABSTAIN. Certificate, or a list of them."""
        require_enough(n, alpha)
        images, indices = self._images(x, index)
        selection = self._count(images, indices, n0, "selection")
        estimation = self._count(images, indices, n, "estimation")
        found = [
            replace(certify(chosen, judged, self.noise, alpha), seed=self.seed, index=i)
            for chosen, judged, i in zip(selection, estimation, indices, strict=True)
        ]
        return found[0] if x.dim() == self.image_dims else found

    def _count(self, images: Tensor, indices: Sequence[int], n: int, stage: str) -> Votes:
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
