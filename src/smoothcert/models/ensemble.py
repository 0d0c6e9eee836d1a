"""Several networks as one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.models.composed import as_module, state
from smoothcert.models.network import agreed

MOST_MEMBERS = 100


class Ensemble(nn.Module):
    """f(z) = Σᵢ fᵢ(z), the sum of the logits of k networks   [Horváth et al. 2022].

    An ordinary base classifier, so certificates hold as they are; a vote costs k passes. With one member it is that
    member, bit for bit. Logits are added in float32 at least, also those of bfloat16 networks.

    Args:
        members: networks or functions from the same images to logits of the same classes; to be trained together they
            must start from different weights

    Example:
        >>> f = Ensemble([lambda x: x.flatten(1), lambda x: 2 * x.flatten(1)])
        >>> f(torch.ones(1, 1, 1, 2))
        tensor([[3., 3.]])
    """

    def __init__(self, members: Sequence[Callable[[Tensor], Tensor]]) -> None:
        super().__init__()
        if not 1 <= len(members) <= MOST_MEMBERS:
            raise InputError(f"an ensemble has 1 to {MOST_MEMBERS} members, not {len(members)}")
        self.members = nn.ModuleList(as_module(member) for member in members)
        state(self, agreed(members), members)
        self.variant: str = f"sum of {len(members)} ({self.variant})"

    def forward(self, z: Tensor) -> Tensor:
        first, *others = self.members
        total = _precise(first(z))
        for member in others:
            logits = _precise(member(z))
            if logits.shape != total.shape:  # one class would be added to all
                k, found = total.shape[-1], logits.shape[-1]
                raise InputError(f"the members of an ensemble must tell the same classes apart, not {k} and {found}")
            total = total + logits
        return total

    def with_parts(self, change: Callable[[nn.Module], nn.Module]) -> Ensemble:
        """The ensemble of the changed members."""
        return Ensemble([change(member) for member in self.members])


def member_of(parameter: str) -> str:
    """Which member of an ensemble a parameter belongs to, by its name; "" outside of ensembles.

    >>> member_of("f.members.2.conv1.weight"), member_of("conv1.weight")
    ('f.members.2.', '')
    """
    found = re.match(r"(\w+\.)*?members\.\d+\.", parameter)
    return found[0] if found else ""


def _precise(logits: Tensor) -> Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
