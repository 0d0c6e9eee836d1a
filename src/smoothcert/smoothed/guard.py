"""Is f a function of one image? Asked once before the first vote, with a handful of forward passes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from smoothcert.errors import InputError

ROWS = 4  # noisy copies of the first image; each check gives f all of them once

# Of the range of all logits. The kernels of a CPU sum in another order for another batch size: our networks differ by
# up to 6e-7 in float32 and by nothing in bfloat16. Accelerators may choose kernels that round products (TF32,
# bfloat16) for some sizes only. Dropout of a tenth, or BatchNorm over the batch, changes logits by a tenth and more.
CPU_TOLERANCE, TOLERANCE, BFLOAT16_TOLERANCE = 1e-3, 1e-2, 5e-2


def refuse_unsteady(f: Callable[[Tensor], Tensor], inputs: Tensor, precision: str = "float32") -> None:
    """f(x)ᵢ = f(x)ᵢ asked again = f(xᵢ) alone = f(x in reverse)ᵢ, to within rounding; else InputError.

    A vote is a number of f(x + δ): where f draws numbers of its own, or an image's logits depend on its company in the
    batch, the votes are neither of one f nor independent, and the bound on their probability means nothing.
    """
    tolerance = BFLOAT16_TOLERANCE if precision == "bfloat16" else TOLERANCE
    if precision == "float32" and inputs.device.type == "cpu":
        tolerance = CPU_TOLERANCE
    first = f(inputs)
    if first.dim() != 2 or len(first) != len(inputs) or not first.isfinite().all():
        return  # what the votes refuse, in their own words
    spread = float(first.max() - first.min())

    def off(other: Tensor) -> float:
        """Largest difference as a share of the range; a shape that changed counts as all of it."""
        if other.shape != first.shape:
            return 1.0
        difference = float((other - first).abs().max())
        return difference / spread if difference > 0 and spread > 0 else difference

    found = off(f(inputs))
    if not found <= tolerance:
        raise InputError(
            f"the classifier is random: asked twice about the same images, its logits differ by {found:.2g} of their "
            f"range (rounding allows {tolerance:g}): call .eval() on the network, or switch its dropout off"
        )
    found = max(off(_one_by_one(f, inputs)), off(f(inputs.flip(0)).flip(0)))
    if not found <= tolerance:
        raise InputError(
            f"the classifier's answer to an image depends on the other images of its batch: alone or in another order "
            f"its logits differ by {found:.2g} of their range (rounding allows {tolerance:g}): call .eval() on the "
            "network; BatchNorm needs its running statistics"
        )


def _one_by_one(f: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    try:
        return torch.cat([f(x) for x in inputs.split(1)])
    except (ValueError, RuntimeError) as error:
        raise InputError(
            f"the classifier cannot be asked about a single image: {' '.join(str(error).split())}"
        ) from error
