"""log F_y(x + δ) − max_{c≠y} log F_c(x + δ) of a trained network at one test image, draw by draw (figure 1)."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from smoothcert.certification.target import ModelOptions, Target, open_target
from smoothcert.errors import InputError
from smoothcert.figures.gaps import log_probability_gap
from smoothcert.files.writing import write_atomically
from smoothcert.noise.stream import generator_for

DRAWS = 10_000  # of figure 1
_AT_ONCE = 250


def gaps_of_runs(
    runs: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    image: int = 0,
    draws: int = DRAWS,
    seed: int = 0,
    **options: Unpack[ModelOptions],
) -> dict[str, NDArray[np.float64]]:
    """The gaps of each run, by its name; all of them see the same draws. `out`: a .npz file to write them to."""
    if not runs:
        raise InputError("name at least one run folder")
    targets = [open_target(run, **options) for run in runs]
    names = [target.name for target in targets]
    if len(set(names)) < len(names):
        raise InputError(f"two runs have the same name: {', '.join(names)}")
    found = {target.name: _gaps_at(target, image, draws, seed) for target in targets}
    if out is not None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **found)  # type: ignore[arg-type]
        write_atomically(Path(out), buffer.getvalue())
    return found


@torch.inference_mode()
def _gaps_at(target: Target, image: int, draws: int, seed: int) -> NDArray[np.float64]:
    test_set = target.images()
    if draws < 1:
        raise InputError(f"--draws must be at least 1, not {draws}")
    if not 0 <= image < len(test_set):
        raise InputError(f"--image must lie in 0 … {len(test_set) - 1}, not {image}")
    x, y = (part.to(target.device) for part in test_set.batch(torch.tensor([image])))
    generator = generator_for(target.device, seed, image, "gaps")
    logits = []
    for chunk in torch.arange(draws).split(_AT_ONCE):
        delta = target.noise.sample_like(x.expand(len(chunk), *x.shape[1:]), generator)
        logits.append(target.f(delta.add_(x)).cpu())
    return log_probability_gap(torch.cat(logits).numpy(), int(y[0]))
