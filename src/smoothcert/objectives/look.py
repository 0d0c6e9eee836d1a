"""Look and Elsewhere: what a term may see beyond the noisy views, and what it asks the network about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Look:
    """What a term gets that has `elsewhere(look)`: enough to make further views of the images.

    The network behind `g` is in eval mode, and its weights ask for no gradient: the moment for an attack.
    """

    g: Callable[[Tensor], Tensor]
    """views (n, B, …) → logits (n, B, K)"""
    x: Tensor
    """(B, …), before any attack"""
    x_hat: Tensor
    """(B, …), as the objective's attack moved it; x without one"""
    y: Tensor
    """(B,)"""
    delta: Tensor
    """(m, B, …), the draws: the noisy views are x_hat + delta"""
    votes: Tensor | None
    """(B, K), shares of the votes of a first network; never None for a term with `wants_votes`"""
    generator: torch.Generator | None
    within: tuple[int, int]
    """(start, total): the images are those from `start` on of an optimiser step of `total`"""

    def uniform(self, n: int) -> Tensor:
        """(n, B) numbers in [0, 1): of an image the same, whoever computes the rest of its step."""
        start, total = self.within
        whole = self.x.new_empty((n, total)).uniform_(generator=self.generator)
        return whole[:, start : start + len(self.x)]


@dataclass(frozen=True)
class Elsewhere:
    """Where else a term looks: it is called as term(logits, y, logits of `views`, *aside)."""

    views: Tensor | None
    """(n, B, …): a forward pass of their own, as they are trained; None: no pass, and None for their logits"""
    aside: tuple[Tensor, ...] = ()
    """what else its charge depends on"""
