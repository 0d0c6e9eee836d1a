"""Options that say what a model does not say itself, shared by the commands that take one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from smoothcert.cli.options.machine import Machine
from smoothcert.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from smoothcert.certification.target import ModelOptions
    from smoothcert.noise import Noise


@dataclass(frozen=True)
class Model:
    """What a run of ours knows by itself, and others' models must be told."""

    sigma: float | None = None
    """standard deviation of Gaussian noise, such as 0.5 (default: that of the run's training)"""
    noise: str | None = None
    """another noise instead, such as laplace:0.35 or uniform:0.87, or package.module:Name:SCALE for one of your own;
    grid: the run's own noise, or that of --sigma, drawn exactly on the grid of 8-bit images, so that the certificate
    holds without any assumption about rounding"""
    dataset: str | None = None
    """data set whose images are used (default: the run's own); or images of your own: a folder of pictures, a picture,
    .npy, .npz, package.module:name"""
    labels: Path | None = None
    """of a folder of your own pictures: CSV with the columns file,label; of .npy images: .npy"""
    classes: str | None = None
    """the model's classes in its order, as in cat,dog, where your labels or folders are names"""
    split: str | None = None
    """test, train or held-out-N (default: test, or what the run's training put aside)"""
    arch: str | None = None
    """network of a checkpoint that does not name its own, such as cifar_resnet110, or package.module:factory"""
    num_classes: int | None = None
    """classes, where they cannot be found"""
    input_shape: str | None = None
    """channels, height and width, where they cannot be found, as in 1,28,28"""
    normalization: str | None = None
    """of a checkpoint: standard, center or none"""
    precision: Literal["float32", "bfloat16"] | None = None
    """of the network (default: as it was trained); bfloat16 votes 1.6 to 2 times as fast on a CPU that has it"""

    trust: bool = False
    """run code that came with the model: a TorchScript or .pt2 file, or a run whose own network or noise has another
    source now than when it was trained"""

    ensemble: tuple[str, ...] = ()
    """further runs or models: f is the sum of the logits of all of them, as in `certify A --ensemble B C`"""
    denoiser: str | None = None
    """remove the noise before the classifier, which then need not have seen any: run folder of a denoiser, FILE.onnx,
    TorchScript, FILE.pt2, weights, package.module:factory, diffusers:FOLDER; needs --sigma"""
    denoiser_arch: str | None = None
    """package.module:factory that builds the network of a denoiser's weights"""
    denoiser_range: tuple[float, float] | None = None
    """of the images that a denoiser from elsewhere works with, as in --denoiser-range -1 1 (default: 0 1)"""
    mirror: bool = False
    """f is the sum of the logits of an image and its mirror image: twice the cost of a vote"""

    def options(self, machine: Machine, images: str | None = None, network: str | None = None) -> ModelOptions:
        """`images` and `network` are what the command itself was told: the same as --dataset and --arch."""
        if images is not None and self.dataset is not None:
            raise InputError(f"the images are {images}, or those of --dataset {self.dataset}: name one of them")
        if network is not None and self.arch is not None:
            raise InputError(f"the network is {network}, or that of --arch {self.arch}: name one of them")
        return {
            **machine.where(),
            "noise": self.chosen_noise(),
            "dataset": images or self.dataset,
            "labels": self.labels,
            "classes": None if self.classes is None else _names(self.classes),
            "split": self.split,
            "arch": network or self.arch,
            "num_classes": self.num_classes,
            "input_shape": None if self.input_shape is None else _shape(self.input_shape),
            "normalization": self.normalization,
            "precision": self.precision,
            "trust": self.trust,
            "ensemble": self.ensemble,
            "denoiser": self.denoiser,
            "denoiser_arch": self.denoiser_arch,
            "denoiser_range": self.denoiser_range,
            "mirror": self.mirror,
        }

    def chosen_noise(self) -> Noise | Literal["grid"] | None:
        from smoothcert.files.source import is_spec
        from smoothcert.noise import NOISES, Gaussian, GridGaussian
        from smoothcert.recipes.serialize import own_noise

        if self.noise is None:
            return None if self.sigma is None else Gaussian(self.sigma)
        if self.noise == "grid":
            return "grid" if self.sigma is None else GridGaussian(self.sigma)
        if self.sigma is not None:
            raise InputError("--sigma and --noise exclude each other")
        kind, _, scale = self.noise.partition(":")
        own, _, own_scale = self.noise.rpartition(":")
        try:
            if is_spec(own):
                return own_noise(own, float(own_scale))
            if kind not in NOISES:
                raise InputError(f"unknown noise {kind!r}{did_you_mean(kind, NOISES)}")
            return NOISES[kind](float(scale))  # type: ignore[call-arg]
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"--noise is KIND:SCALE, such as {kind}:0.5, not {self.noise!r}") from None


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if len(set(names)) < max(2, len(names)) or not all(names):
        raise InputError(f"--classes must be at least two different names, as in cat,dog, not {text!r}")
    return names


def _shape(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9]\d{0,5}(,[1-9]\d{0,5}){2}", text, re.ASCII):
        raise InputError(f"--input-shape is channels, height and width, as in 1,28,28, not {text!r}")
    return tuple(map(int, text.split(",")))
