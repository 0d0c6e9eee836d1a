"""EasyImages: the sampler of Sun et al."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smoothcert.errors import InputError
from smoothcert.files.shown import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST = 10**6  # draws of an image: more is a slip


@dataclass(frozen=True)
class EasyImages:
    """w(x) = Φ⁻¹(p̲(max(p̂(x), least))), and images with p̂(x) < drop are left out   [Sun et al. 2025].

    p̂ is the share of noise draws on which the network so far is right, p̲ the Clopper–Pearson lower bound at level
    α: an image is drawn in proportion to its radius at σ = 1, as few draws show it. It raises the average radius and
    gives up hard images: look at the certified accuracy at 0 too.

    Args:
        start: epoch, counted from 0, before which images are dropped and weighed for the first time
        every: epochs between two weighings; 0: images are dropped only
        drop: images on which f is right less often are dropped for good; 0: none are
        drop_draws: noise draws an image to find them
        draws: noise draws an image of a weighing
        alpha: level of the lower bound
        least: p̂ from which on images differ in weight; harder ones have the weight of this one

    Example:
        >>> EasyImages(start=60).draws_to_weigh(70)
        16
    """

    start: int
    every: int = 10
    drop: float = 0.4
    drop_draws: int = 100
    draws: int = 16
    alpha: float = 0.1
    least: float = 0.75

    def __post_init__(self) -> None:
        for name, low, high in (("drop_draws", 1, _MOST), ("draws", 1, 1000), ("start", 0, _MOST), ("every", 0, _MOST)):
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise InputError(
                    f"easy_images: {name} must be a whole number from {low} to {high:,}, not {shown(value)}"
                )
        if not 0 <= self.drop <= 1:
            raise InputError(f"easy_images: drop must lie between 0 and 1, not {shown(self.drop)}")
        if not 0 < self.alpha < 1 or not 0 <= self.least <= 1:
            raise InputError(f"easy_images needs 0 < alpha < 1 and 0 <= least <= 1, not {self.alpha} and {self.least}")
        if self.every == 0 and self.drop == 0:
            raise InputError("easy_images with drop = 0 and every = 0 does nothing: leave the sampler out")
        if self.every and not self._weighs_the_least():
            raise InputError(
                f"easy_images: {self._least_hits} of {self.draws} draws do not show p > 1/2 at alpha = {self.alpha}, "
                "so that images would have no weight: raise least, draws or alpha"
            )

    @property
    def _least_hits(self) -> int:
        return math.ceil(self.least * self.draws - 1e-9)  # 0.55 · 100 is a little more than 55

    def _weighs_the_least(self) -> bool:
        """p̲ > ½ ⇔ P[Bin(n, ½) ≥ k] < α. In whole numbers, and with a margin for p̲, which is rounded down."""
        tail = sum(math.comb(self.draws, k) for k in range(self._least_hits, self.draws + 1))
        return tail / 2**self.draws < self.alpha * (1 - 1e-3)

    def draws_to_drop(self, epoch: int) -> int:
        return self.drop_draws if self.drop and epoch == self.start else 0

    def draws_to_weigh(self, epoch: int) -> int:
        due = self.every and epoch >= self.start and (epoch - self.start) % self.every == 0
        return self.draws if due else 0

    def keeps(self, hits: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
        return hits / n >= self.drop

    def weights(self, hits: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        from smoothcert.stats.unit_radius import unit_radius

        return unit_radius(hits.clip(self._least_hits), n, self.alpha)
