"""Certification: how a row of the paper is certified once it is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Certification:
    """CERTIFY's parameters and the test images, all the same throughout the paper but for ImageNet's sample.

    σ is not among them: a row is certified with the noise it was trained under.
    """

    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    every: int = 1
    """every k-th image of the test set"""
    procedure: Literal["paper", "curve", "adaptive"] = "paper"
    """who decides how many votes an image gets"""


def certification_of(data: str) -> Certification:
    """As the paper certifies on this data set: all images, or every 100th of ImageNet's validation set."""
    return Certification(every=100 if data == "imagenet" else 1)
