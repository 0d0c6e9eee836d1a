"""Sample: what a sampler has found."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sample:
    """The images that are left, and the weight of each; None: each is shown once an epoch."""

    kept: Tensor
    """(n,) int64: their numbers in the training set"""
    weights: Tensor | None = None
    """(n,) float64"""

    def order(self, generator: torch.Generator) -> Tensor:
        """(n,): the images of an epoch; with weights w, each is drawn with probability w_i / Σ w, with replacement."""
        n = len(self.kept)
        if self.weights is None:
            return self.kept[torch.randperm(n, generator=generator)]
        edges = self.weights.cumsum(0)
        at = edges[-1] * torch.rand(n, generator=generator, dtype=torch.float64)
        return self.kept[torch.searchsorted(edges, at, right=True).clamp_(max=n - 1)]

    def state(self) -> dict[str, Tensor]:
        return {"kept": self.kept} | ({} if self.weights is None else {"weights": self.weights})
