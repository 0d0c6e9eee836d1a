"""A classifier behind a denoiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.models.composed import as_module, state
from smoothcert.models.network import agreed, declared

UNIT = (0.0, 1.0)


class Denoised(nn.Module):
    """f(z) = classifier(denoiser(z, σ))   [Salman et al. 2020, denoised smoothing].

    For a classifier that never saw noise: an ordinary base classifier, so certificates hold as they are, however well
    or badly the denoiser works. A vote costs a pass of each.

    z = x + δ with images x in [0, 1]; noise leaves this range and is not cut off. A denoiser that works in another
    range [a, b], as [−1, 1], is told so: it gets a + (b − a) z and (b − a) σ, and its answer is brought back. The
    denoised image goes to the classifier as it is, without being clamped to [0, 1], as Salman et al. have it.

    Args:
        denoiser: called with noisy images (B, C, H, W) and the standard deviation σ of their noise, gives images of
            the same shape
        classifier: network or function from images in [0, 1] to logits
        sigma: the standard deviation of the noise that is certified, in units of [0, 1]
        range: of the denoiser's images

    Example:
        >>> import torch
        >>> f = Denoised(lambda z, sigma: z - sigma, lambda x: x.flatten(1), sigma=0.5)
        >>> f(torch.ones(1, 1, 1, 2))
        tensor([[0.5000, 0.5000]])
    """

    def __init__(
        self,
        denoiser: Callable[[Tensor, float], Tensor],
        classifier: Callable[[Tensor], Tensor],
        sigma: float,
        range: tuple[float, float] = UNIT,
    ) -> None:
        super().__init__()
        low, high = range
        if not sigma > 0 or not low < high:
            raise InputError(f"a denoiser needs σ > 0 and a range from small to large, not σ = {sigma} and {range}")
        self.denoiser, self.classifier = as_module(denoiser), as_module(classifier)
        self.sigma, self.range = float(sigma), (float(low), float(high))
        says = agreed([denoiser, classifier])
        state(self, replace(says, input_range=declared(classifier).input_range), [denoiser, classifier])
        self.variant: str = f"denoised ({self.variant})"

    def forward(self, z: Tensor) -> Tensor:
        return self.classifier(self.denoised(z))

    def denoised(self, z: Tensor) -> Tensor:
        """What the classifier is given: images in [0, 1], but for what the denoiser leaves outside."""
        low, high = self.range
        width = high - low
        if self.range == UNIT:
            x: Tensor = self.denoiser(z, self.sigma)
        else:
            x = (self.denoiser(low + width * z, width * self.sigma) - low) / width
        if x.shape != z.shape:
            raise InputError(
                f"the denoiser gave {tuple(x.shape)} for images {tuple(z.shape)}: it must keep their shape"
            )
        return x

    def with_parts(self, change: Callable[[nn.Module], nn.Module]) -> Denoised:
        """The changed classifier behind the changed denoiser."""
        return Denoised(change(self.denoiser), change(self.classifier), self.sigma, self.range)
