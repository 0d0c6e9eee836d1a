"""log F_y(x + δ) − max_{c≠y} log F_c(x + δ) of a trained network at one test image, draw by draw (figure 1)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from smoothcert.analysis.gaps import log_probability_gap
from smoothcert.certification.target import Target
from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.noise.stream import generator_for

DRAWS = 10_000  # of figure 1
_AT_ONCE = 250


@torch.inference_mode()
def gaps_at(
    target: Target, test_set: ImageSet, image: int, draws: int, seed: int, device: torch.device
) -> NDArray[np.float64]:
    """One gap for each of `draws` draws; with one seed every network sees the same ones."""
    target.require_fit(test_set)
    if draws < 1:
        raise InputError(f"--draws must be at least 1, not {draws}")
    if not 0 <= image < len(test_set):
        raise InputError(f"--image must lie in 0 … {len(test_set) - 1}, not {image}")
    x, y = (part.to(device) for part in test_set.batch(torch.tensor([image])))
    generator = generator_for(device, seed, image, "gaps")
    logits = []
    for chunk in torch.arange(draws).split(_AT_ONCE):
        delta = target.noise.sample_like(x.expand(len(chunk), *x.shape[1:]), generator)
        logits.append(target.f(delta.add_(x)).cpu())
    return log_probability_gap(torch.cat(logits).numpy(), int(y[0]))
