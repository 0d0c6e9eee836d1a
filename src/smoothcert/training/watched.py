"""What is watched of a training, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

_IN_WORDS: dict[str, tuple[str, Callable[[float], str]]] = {
    "noisy_accuracy": ("noisy acc", lambda share: f"{100 * share:.1f}%"),
    "accuracy": ("acc", lambda share: f"{100 * share:.1f}%"),
    "mse": ("MSE", lambda mse: f"{mse:.4f} (PSNR {psnr(mse):.1f} dB)"),
    "noise_mse": ("MSE of the noise", lambda mse: f"{mse:.4f}"),
    "agreement": ("same class", lambda share: f"{100 * share:.1f}%"),
}
_SPELT = {"noisy acc": "noisy test accuracy", "acc": "test accuracy", "same class": "test images of the same class"}


def psnr(mse: float) -> float:
    """−10 log₁₀ MSE, in decibel: the peak is 1.

    >>> psnr(0.01)
    20.0
    """
    return -10 * math.log10(mse) if mse > 0 else math.inf


def in_words(means: Mapping[str, float]) -> str:
    """Of the images of a training.

    >>> in_words({"noisy_accuracy": 0.925})
    'noisy acc 92.5%'
    """
    return "  ".join(f"{_IN_WORDS[name][0]} {_IN_WORDS[name][1](mean)}" for name, mean in means.items())


def tested_in_words(row: Mapping[str, float]) -> str:
    """Of the test images, from a row of the training log.

    >>> tested_in_words({"epoch": 3, "test_mse": 0.01})
    'test MSE 0.0100 (PSNR 20.0 dB)'
    """
    found = {name: row[f"test_{name}"] for name in _IN_WORDS if f"test_{name}" in row}
    said = ((_IN_WORDS[name][0], _IN_WORDS[name][1](value)) for name, value in found.items())
    return "  ".join(f"{_SPELT.get(what, f'test {what}')} {value}" for what, value in said)
