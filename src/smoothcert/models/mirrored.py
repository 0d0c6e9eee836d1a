"""A network that also looks at the mirror image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from smoothcert.models.composed import as_module, state
from smoothcert.models.network import agreed


class Mirrored(nn.Module):
    """f(z) + f(z flipped left to right), logits   [test-time mirroring, as in Jordan 2024].

    An ordinary base classifier as long as it is the same wherever votes are cast: what is certified is the mirrored f,
    and only the mirrored f may be deployed with that certificate. A vote costs twice the passes of f. It gives z and
    its mirror image the same logits, bit for bit.

    Args:
        f: network or function from images (B, C, H, W) to logits

    Example:
        >>> f = Mirrored(lambda x: x.flatten(1))
        >>> f(torch.tensor([[[[1.0, 5.0]]]]))
        tensor([[6., 6.]])
    """

    def __init__(self, f: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.f = as_module(f)
        says = agreed([f])
        state(self, replace(says, passes_per_vote=2 * says.passes_per_vote), [f])
        self.variant: str = f"mirrored ({self.variant})"

    def forward(self, z: Tensor) -> Tensor:
        logits, mirrored = self.f(z), self.f(z.flip(-1))
        precise = torch.promote_types(logits.dtype, torch.float32)
        return logits.to(precise) + mirrored.to(precise)

    def with_parts(self, change: Callable[[nn.Module], nn.Module]) -> Mirrored:
        """The mirrored form of the changed network."""
        return Mirrored(change(self.f))
