"""Options that say what a model does not say itself, shared by the commands that take one."""

from __future__ import annotations

from dataclasses import dataclass
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
    """data set whose images are used (default: the run's own)"""
    split: str | None = None
    """test, train or held-out-N (default: test, or what the run's training put aside)"""
    arch: str | None = None
    """network of a checkpoint that does not name its own"""
    num_classes: int | None = None
    """classes, where they cannot be found"""
    input_shape: tuple[int, int, int] | None = None
    """channels, height and width, where they cannot be found"""
    normalization: str | None = None
    """of a checkpoint: standard, center or none"""
    precision: Literal["float32", "bfloat16"] | None = None
    """of the network (default: as it was trained); bfloat16 votes nearly twice as fast on a CPU that has it"""

    def options(self, machine: Machine) -> ModelOptions:
        return {
            **machine.where(),
            "noise": self.chosen_noise(),
            "dataset": self.dataset,
            "split": self.split,
            "arch": self.arch,
            "num_classes": self.num_classes,
            "input_shape": self.input_shape,
            "normalization": self.normalization,
            "precision": self.precision,
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
