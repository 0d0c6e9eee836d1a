"""SmoothedClassifier(f, noise): votes, predictions and certificates for anyone's f."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.machine.precision import Precision, require_precision
from smoothcert.models.network import declared
from smoothcert.noise import GridNoise, Noise
from smoothcert.procedures.anytime import Anytime
from smoothcert.procedures.bound import bound_of
from smoothcert.procedures.certificate import Certificate, conclude
from smoothcert.procedures.evidence import Evidence
from smoothcert.procedures.prediction import Prediction, predict
from smoothcert.procedures.procedure import Procedure, build
from smoothcert.smoothed.drive import Image, drive
from smoothcert.smoothed.grid_image import is_off_grid, rounded
from smoothcert.smoothed.votes import Request, Voter, Votes, precision_of, refuse_training_mode


class SmoothedClassifier:
    """g(x) = argmax_c P[f(x + δ) = c] for any callable f from a batch of images to logits.

    The noise of an image depends on (seed, index, stage). Without an `index` the image's own content names its noise
    (`content_index`): images of a loop or a batch get independent noise, equal images equal noise.

    Under grid noise g is defined for images on the grid 0, 1/255, …, 1. Others are rounded to it; what is said is then
    about the rounded image, and `rounded` of the certificate or prediction is True.

    Args:
        f: any callable from a batch of images to logits; a module must be in eval mode
        noise: the law of δ: Gaussian, Laplace or Uniform; GridGaussian or GridUniform, which are drawn exactly
        num_classes: how many logits f gives
        seed: decides the noise; up to 2^256 - 1 under grid noise. None: certificates are of seed 0, each call of
            `predict` draws a fresh secret seed
        batch: how many noisy copies f gets at once; "auto" finds the fastest number on the first votes
        device: where f runs; None: where its parameters are
        image_dims: dimensions of one image; a batch has one more
        precision: "bfloat16" certifies a copy of the module f in bfloat16, 1.6 to 2 times as fast where the CPU has it;
            None: that of f, float32 if it does not say `precision`

    Example:
        >>> import torch
        >>> from smoothcert import Gaussian, SmoothedClassifier
        >>> f = lambda x: torch.stack([x.flatten(1).sum(1), -x.flatten(1).sum(1)], 1)  # class 0: the sum is positive
        >>> g = SmoothedClassifier(f, Gaussian(0.5), num_classes=2)
        >>> g.certify(torch.ones(1, 2, 2), n=1000).label
        0
    """

    def __init__(
        self,
        f: Callable[[Tensor], Tensor],
        noise: Noise,
        num_classes: int,
        *,
        seed: int | None = None,
        batch: int | Literal["auto"] = "auto",
        device: torch.device | str | None = None,
        image_dims: int = 3,
        precision: Precision | None = None,
    ) -> None:
        refuse_training_mode(f)
        device = _device_of(f, device)
        f = f if precision is None else _in_precision(f, precision)
        require_precision(precision_of(f), device)
        self.f, self.noise, self.num_classes = f, noise, num_classes
        self.seed = 0 if seed is None else seed
        self.image_dims = image_dims
        self._seed_given = seed is not None
        memory_format = declared(f).memory_format or torch.contiguous_format
        rows = None if batch == "auto" else batch
        self._voter = Voter(f, noise, num_classes, self.seed, rows, device, memory_format)

    @property
    def device(self) -> torch.device:
        """Where f runs."""
        return self._voter.device

    @property
    def precision(self) -> str:
        """Of f: "float32" or "bfloat16"."""
        return self._voter.precision

    def votes(self, x: Tensor, n: int, *, stage: str = "estimation", index: int | Sequence[int] | None = None) -> Votes:
        """Class counts over n noisy copies: (K,) of one image, (B, K) of a batch.

        Args:
            x: one image, or a batch of them
            n: votes per image
            stage: names a sample; those of different stages are independent of each other
            index: names the noise; a batch counts upwards from a single number. None: the image's content names it

        Returns:
            whole numbers that sum to n for each image

        Example:
            >>> import torch
            >>> from smoothcert import Gaussian
            >>> g = SmoothedClassifier(lambda x: x.flatten(1), Gaussian(0.5), num_classes=4)
            >>> int(g.votes(torch.zeros(1, 2, 2), 100).sum())
            100
        """
        one = x.dim() == self.image_dims
        images, indices = self._images(x.unsqueeze(0) if one else x, index)
        counts = self._count(images, indices, n, stage, self.seed)
        return counts[0] if one else counts

    def predict(self, x: Tensor, n: int = 1000, alpha: float = 0.001, *, index: int | None = None) -> Prediction:
        """PREDICT: the class of g at one image, or ABSTAIN where n votes cannot tell it at level α.

        Where the classifier was made without a seed, the noise has a fresh secret seed in each call, so that nobody
        can look for an x that is unlucky with just this noise. `Prediction.seed` says it afterwards.

        Args:
            x: one image
            n: votes
            alpha: probability of a label that is not g's
            index: names the noise, together with the seed; None: the image's content does

        Returns:
            the prediction with its votes, p-value, seed and index

        Example:
            >>> import torch
            >>> from smoothcert import Gaussian
            >>> g = SmoothedClassifier(lambda x: x.flatten(1), Gaussian(0.1), num_classes=4)
            >>> g.predict(torch.tensor([[[0.0, 0.0], [1.0, 0.0]]]), n=100).label
            2
        """
        return self.predict_batch(self._alone(x, "predict_batch"), n, alpha, index=index)[0]

    def predict_batch(
        self, xs: Tensor, n: int = 1000, alpha: float = 0.001, *, index: int | Sequence[int] | None = None
    ) -> list[Prediction]:
        """PREDICT of each image of a batch; see `predict`.

        Args:
            xs: a batch of images
            n: votes per image
            alpha: probability of a label that is not g's, per image
            index: one number per image, or one from which the batch counts upwards; None: each image's content

        Returns:
            one prediction per image, in order

        Example:
            >>> import torch
            >>> from smoothcert import Gaussian
            >>> g = SmoothedClassifier(lambda x: x.flatten(1), Gaussian(0.1), num_classes=4)
            >>> [p.label for p in g.predict_batch(torch.eye(4).reshape(4, 1, 2, 2), n=100)]
            [0, 1, 2, 3]
        """
        images, indices = self._images(xs, index)
        seed = self.seed if self._seed_given else fresh_seed(self.noise)
        counts = self._count(images, indices, n, "predict", seed)
        return [
            replace(predict(c, alpha), seed=seed, index=i, precision=self.precision, **self._exactness(x, n))
            for c, i, x in zip(counts, indices, images, strict=True)
        ]

    def certify(
        self,
        x: Tensor,
        n0: int = 100,
        n: int = 100_000,
        alpha: float = 0.001,
        *,
        index: int | None = None,
        procedure: str | Procedure = "paper",
        bound: str = "single",
        radii: Sequence[float] | None = None,
        label: int | None = None,
    ) -> Certificate:
        """A class and the radius within which g keeps it, or ABSTAIN: true with probability ≥ 1 − α.

        Args:
            x: one image
            n0: votes that choose the class
            n: votes that judge it
            alpha: probability of a false certificate
            index: names the noise, together with the seed; None: the image's content does, see `content_index`
            procedure: CERTIFY ("paper"), "curve", "adaptive", or an object of one's own, which then decides alone
            bound: "single" bounds p_A, "pair" also the class behind it
            radii: the radii that "curve" and "adaptive" decide about
            label: this class is judged instead of a guess, with fewer votes; "paper" skips the image, which then
                counts as abstained, where the n0 votes are for another class

        Returns:
            the certificate, with all that it was computed from

        Example:
            >>> import torch
            >>> from smoothcert import Gaussian
            >>> g = SmoothedClassifier(lambda x: x.flatten(1), Gaussian(0.1), num_classes=4)
            >>> c = g.certify(torch.tensor([[[0.0, 0.0], [1.0, 0.0]]]), n=1000)
            >>> c.label, round(c.radius, 3), c.follows
            (2, 0.246, True)
        """
        return self.certify_batch(
            self._alone(x, "certify_batch"),
            n0,
            n,
            alpha,
            index=index,
            procedure=procedure,
            bound=bound,
            radii=radii,
            label=None if label is None else [label],
        )[0]

    def certify_batch(
        self,
        xs: Tensor,
        n0: int = 100,
        n: int = 100_000,
        alpha: float = 0.001,
        *,
        index: int | Sequence[int] | None = None,
        procedure: str | Procedure = "paper",
        bound: str = "single",
        radii: Sequence[float] | None = None,
        label: Sequence[int] | None = None,
    ) -> list[Certificate]:
        """The certificate of each image of a batch: the one that `certify` gives it alone.

        Args:
            xs: a batch of images
            n0: votes that choose the class, per image
            n: votes that judge it, per image
            alpha: probability of a false certificate, per image
            index: one number per image, or one from which the batch counts upwards; None: each image's content
            procedure: as in `certify`
            bound: as in `certify`
            radii: as in `certify`
            label: one class per image, each judged instead of a guess

        Returns:
            one certificate per image, in order

        Example:
            >>> import torch
            >>> from smoothcert import Gaussian
            >>> g = SmoothedClassifier(lambda x: x.flatten(1), Gaussian(0.1), num_classes=4)
            >>> [c.label for c in g.certify_batch(torch.eye(4).reshape(4, 1, 2, 2), n=1000)]
            [0, 1, 2, 3]
        """
        if isinstance(procedure, str):
            grid = None if radii is None else tuple(radii)
            aware = label is not None
            procedure = build(procedure, self.noise, n0, n, alpha, bound=bound, radii=grid, label_aware=aware)
        images, indices = self._images(xs, index)
        labels = [None] * len(images) if label is None else label
        if len(labels) != len(images):
            raise InputError(f"{len(images)} images but {len(labels)} labels")
        asked = [Image(*each) for each in zip(images, indices, labels, strict=True)]
        finished = {id(image): certificate for image, certificate, _ in self.certificates(procedure, asked)}
        return [finished[id(image)] for image in asked]

    def certificates(
        self, procedure: Procedure, images: Iterable[Image], room: Callable[[], int] | None = None
    ) -> Iterator[tuple[Image, Certificate, float]]:
        """Certificates of many images as they are finished, with the seconds each took.

        Args:
            procedure: decides how many votes each image gets, and what they prove
            images: read as they are needed, each with the index that names its noise
            room: says how many images may be open at once, for callers who share `images` with others

        Returns:
            an iterator over (image, certificate, seconds), not in the order of `images`

        Example:
            >>> import torch
            >>> from smoothcert import Gaussian
            >>> from smoothcert.procedures.fixed import Fixed
            >>> g = SmoothedClassifier(lambda x: x.flatten(1), Gaussian(0.1), num_classes=4)
            >>> images = (Image(x, i) for i, x in enumerate(torch.eye(4).reshape(4, 1, 2, 2)))
            >>> {i.index: c.label for i, c, _ in g.certificates(Fixed(g.noise, n0=50, n=500), images)}
            {0: 0, 1: 1, 2: 2, 3: 3}
        """
        if procedure.noise != self.noise:
            raise InputError(f"the procedure is for {procedure.noise}, the classifier is smoothed by {self.noise}")
        for image, certificate, seconds in drive(self._voter, procedure, images, room):
            yield image, replace(certificate, **self._exactness(image.x, certificate.votes)), seconds

    def watch(
        self,
        x: Tensor,
        n0: int = 100,
        alpha: float = 0.001,
        *,
        step: int = 1000,
        bound: str = "single",
        index: int | None = None,
    ) -> Iterator[Certificate]:
        """Certificates of one image that only improve, one after every `step` votes: stop whenever you like.

        With probability ≥ 1 − α all of them are true: q̄ of an anytime confidence sequence, which has no last vote.

        Args:
            x: one image
            n0: votes that choose the class
            alpha: probability that any of the certificates is false
            step: votes between two certificates
            bound: "single" bounds p_A, "pair" also the class behind it
            index: names the noise, together with the seed; None: the image's content does

        Returns:
            an iterator without end

        Example:
            >>> import torch
            >>> from smoothcert import Gaussian
            >>> g = SmoothedClassifier(lambda x: x.flatten(1), Gaussian(0.1), num_classes=4)
            >>> radius = 0.0
            >>> for c in g.watch(torch.tensor([[[0.0, 0.0], [1.0, 0.0]]]), step=100):
            ...     if c.radius > 0.2:
            ...         break
            >>> c.label
            2
        """
        procedure = Anytime(self.noise, n0, alpha, bound_of(bound))
        (image,), (index,) = self._images(self._alone(x, "certify_batch"), index)
        chosen = Evidence().selected(self._count([image], [index], n0, "selection", self.seed)[0])
        if step < 1:
            raise InputError(f"step must be at least 1, not {step}")
        best, votes = None, np.zeros(self.num_classes, np.int64)
        while True:
            n = int(votes.sum())
            votes = votes + self._voter.count([Request(image, index, "estimation", n, n + step)])[0]
            found = conclude(procedure, chosen.looked(votes), self.seed, index, self.precision)
            found = replace(found, **self._exactness(image, found.votes))
            if best is None or (found.label, found.radius) > (best.label, best.radius):
                best = found
            yield best

    def _count(self, images: Iterable[Tensor], indices: Sequence[int], n: int, stage: str, seed: int) -> Votes:
        if n < 1:
            raise InputError(f"the number of votes must be at least 1, not {n}")
        return self._voter.count([Request(x, i, stage, 0, n) for x, i in zip(images, indices, strict=True)], seed)

    def _exactness(self, x: Tensor, votes: int) -> dict[str, Any]:
        """What an answer from so many votes says of grid noise; nothing of other noise."""
        if not isinstance(self.noise, GridNoise):
            return {}
        return {"rounded": is_off_grid(x), "residual": self.noise.residual(votes * x.numel())}

    def _alone(self, x: Tensor, of_batch: str) -> Tensor:
        """(1, …): a batch of this one image."""
        if x.dim() == self.image_dims + 1:
            raise InputError(f"x is a batch of shape {tuple(x.shape)}, not one image: call {of_batch}")
        return x.unsqueeze(0)

    def _images(self, images: Tensor, index: int | Sequence[int] | None) -> tuple[Tensor, Sequence[int]]:
        if images.dim() != self.image_dims + 1:
            k = self.image_dims
            raise InputError(f"one image has {k} and a batch {k + 1} dimensions here: set image_dims for other data")
        if index is None:
            seen = rounded(images) if isinstance(self.noise, GridNoise) else images
            indices: Sequence[int] = [content_index(x) for x in seen]
        else:
            indices = range(index, index + len(images)) if isinstance(index, int) else index
        if len(indices) != len(images):
            raise InputError(f"{len(images)} images but {len(indices)} indices")
        refuse_values_outside(declared(self.f).input_range, images)
        return images, indices


def content_index(x: Tensor) -> int:
    """53 bits of SHA-256 of the image's shape and float32 values: equal images have equal indices, others do not.

    So few bits because a log's reader keeps whole numbers below 2⁵³. Of 10⁶ images two share an index with
    probability 6·10⁻⁵, and even those have valid certificates each.

    Args:
        x: one image, on any device and in any memory format

    Returns:
        the index that names its noise where none is given

    Example:
        >>> content_index(torch.zeros(1, 2, 2)) == content_index(torch.zeros(1, 2, 2, dtype=torch.float64))
        True
    """
    values = x.detach().to("cpu", torch.float32).contiguous().numpy().astype("<f4", copy=False)
    digest = hashlib.sha256(f"{tuple(x.shape)}/".encode() + values.tobytes()).digest()
    return int.from_bytes(digest[:7], "big") >> 3


def fresh_seed(noise: Noise) -> int:
    """53 bits that nobody knows before they are used; 256 for grid noise."""
    return secrets.randbits(256 if isinstance(noise, GridNoise) else 53)


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


def _in_precision(f: Callable[[Tensor], Tensor], precision: Precision) -> Callable[[Tensor], Tensor]:
    """f where it already computes in this precision, else a copy that does."""
    from smoothcert.models.freeze import frozen

    if precision_of(f) == precision:
        return f
    if not isinstance(f, nn.Module):
        raise InputError(f"f is no torch module and cannot be turned to {precision}: let f do it, and set f.precision")
    return frozen(f, precision)
