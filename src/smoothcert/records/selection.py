"""Which images of a test set are certified."""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.errors import InputError


def require_limit(limit: int | None) -> None:
    """Of how many images one call takes."""
    if limit is not None and limit < 1:
        raise InputError(f"--limit must be at least 1, not {limit}")


@dataclass(frozen=True)
class Selection:
    """Images start, start + every, … below stop: every k-th is a fair sample of a test set, the first k are not.

    >>> list(Selection(every=100).of(250))
    [0, 100, 200]
    """

    every: int = 1
    start: int = 0
    stop: int | None = None

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"--every must be at least 1, not {self.every}")
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise InputError(f"--range must be FROM TO with 0 <= FROM < TO, not {self.start} {self.stop}")

    def fair(self, images: int) -> range:
        """The same, where a person asks anew: one image alone is what nobody means by every k-th."""
        if self.every > images:
            raise InputError(f"--every {self.every} is more than the {images} images there are")
        return self.of(images)

    def of(self, images: int) -> range:
        chosen = range(self.start, min(images, self.stop if self.stop is not None else images), self.every)
        if not chosen:
            raise InputError(f"no image is selected: the test set has {images}")
        return chosen
