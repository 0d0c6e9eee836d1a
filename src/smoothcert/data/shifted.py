"""Training images that move by some pixels, whatever the data set does by itself."""

from __future__ import annotations

from dataclasses import replace

from smoothcert.data.augment import Shifts
from smoothcert.data.dataset import Dataset, ImageSet
from smoothcert.data.held_out import Part
from smoothcert.errors import InputError


def shifted(images: ImageSet, pixels: int) -> ImageSet:
    """Augmented by shifts of up to so many pixels each way, instead of those it had; flipped if it was before."""
    if isinstance(images, Part):
        return replace(images, whole=shifted(images.whole, pixels))
    if not isinstance(images, Dataset):
        raise InputError(f"{images.name}: its pictures are read from disk and cropped at random: leave `shift` out")
    if pixels >= min(images.shape[1:]):
        size = "×".join(map(str, images.shape[1:]))
        raise InputError(f"recipe: a shift of {pixels} can push images of {size} out of the frame")
    flips = images.augmentation is not None and images.augmentation.flip
    return replace(images, augmentation=Shifts(pixels, flips))
