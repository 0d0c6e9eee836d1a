"""Options that say what a model does not say itself, shared by the commands that take one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smoothcert.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from smoothcert.certification.target import Wishes
    from smoothcert.noise import Noise


@dataclass(frozen=True)
class Model:
    """What a run of ours knows by itself, and others' models must be told."""

    sigma: float | None = None
    """Gaussian noise (default: that of the run's training)"""
    noise: str | None = None
    """another noise instead, such as laplace:0.35 or uniform:0.87"""
    dataset: str | None = None
    """data set whose test split is used (default: the run's own)"""
    arch: str | None = None
    """network of a checkpoint that does not name its own"""
    num_classes: int | None = None
    """classes, where they cannot be found"""
    input_shape: tuple[int, int, int] | None = None
    """channels, height and width, where they cannot be found"""
    normalization: str | None = None
    """of a checkpoint: standard, center or none"""

    def wishes(self) -> Wishes:
        from smoothcert.certification.target import Wishes

        return Wishes(
            self.chosen_noise(), self.dataset, self.arch, self.num_classes, self.input_shape, self.normalization
        )

    def chosen_noise(self) -> Noise | None:
        from smoothcert.noise import NOISES, Gaussian

        if self.noise is None:
            return None if self.sigma is None else Gaussian(self.sigma)
        if self.sigma is not None:
            raise InputError("--sigma and --noise exclude each other")
        kind, _, scale = self.noise.partition(":")
        if kind not in NOISES:
            raise InputError(f"unknown noise {kind!r}{did_you_mean(kind, NOISES)}")
        try:
            return NOISES[kind](float(scale))  # type: ignore[call-arg]
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"--noise is KIND:SCALE, such as {kind}:0.5, not {self.noise!r}") from None
