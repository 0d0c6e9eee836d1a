"""Sampler: which training images the epochs are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Sampler(Protocol):
    """Leaves images out, or shows some more often, by how often f is right on them under the recipe's noise.

    All of it are pure functions; the loop counts. Before an epoch it asks how many noise draws an image are wanted,
    first to drop images and then to weigh those that are left, and 0 means: nothing changes in this epoch. Images
    that were dropped never come back. Once images have weights, an epoch is drawn with replacement.
    """

    def draws_to_drop(self, epoch: int) -> int:
        """Of each image, before epoch 0, 1, …"""

    def draws_to_weigh(self, epoch: int) -> int:
        """Of each image that is left, before epoch 0, 1, …"""

    def keeps(self, hits: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
        """Which images stay, by the number of n draws on which f is right."""

    def weights(self, hits: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        """Positive and finite; an image is drawn in proportion to it."""
