"""Certified accuracy and average certified radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.assured import Assured, assured
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.procedures.certificate import ABSTAIN

_Z = 1.959963984540054  # Φ⁻¹(0.975)


@dataclass(frozen=True)
class Summary:
    """The published numbers of one certification, with what they rest on."""

    name: str
    acr: float | None
    """None where radii are points of a grid (`curve`): their mean would be too small"""
    acr_standard_error: float
    images: int
    selected: int | None
    """images the certification was asked for: more than `images` while it is not finished"""
    abstained: int
    certified_accuracy: dict[float, float | None]
    """None at radii a `curve` log did not ask about"""
    n0: int | None
    n: int | None
    alpha: float | None
    noise: Noise | None
    largest_radius: float | None
    """what n unanimous votes give: no image can have more, so an ACR near it says little"""
    assured: Assured | None = None
    """lower bounds on the true robust accuracy, where a confidence was asked for"""


def certified_accuracy(results: Results, radii: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]:
    """CA(r) = share of images classified correctly, not abstained, with certified radius ≥ r."""
    certified = np.sort(np.where(results.correct & (results.predict != ABSTAIN), results.radius, -1.0))
    below = np.searchsorted(certified, np.asarray(radii, np.float64), side="left")
    return (len(results) - below) / len(results)


def contributions(results: Results) -> NDArray[np.float64]:
    """radius · 1[correct] per image, whose mean is the ACR; an abstention counts 0."""
    return np.where(results.correct & (results.predict != ABSTAIN), results.radius, 0.0)


def default_radii(everything: Sequence[Results]) -> list[float]:
    """0, 0.25, 0.5, … up to the largest certified radius; of `curve` logs their grids."""
    grids = [grid for r in everything if (grid := r.header.grid) is not None]
    if grids:
        return sorted(set().union(*grids))
    top = max(float(r.radius.max()) for r in everything)
    return [0.25 * i for i in range(int(top / 0.25) + 1)]


def summarize(results: Results, radii: Sequence[float], confidence: float | None = None) -> Summary:
    """ACR = mean of radius · 1[correct], its standard error over images, and CA at the given radii.

    With a confidence also what is `assured` of the whole set.
    """
    each, header = contributions(results), results.header
    grid = header.grid
    error = float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
    accuracy = {
        float(r): float(share) if grid is None or float(r) in grid else None
        for r, share in zip(radii, certified_accuracy(results, list(radii)), strict=True)
    }
    return Summary(
        name=results.name,
        acr=float(each.mean()) if grid is None else None,
        acr_standard_error=error if grid is None else float("nan"),
        images=len(results),
        selected=header.selected,
        abstained=int((results.predict == ABSTAIN).sum()),
        certified_accuracy=accuracy,
        n0=header.n0,
        n=header.n,
        alpha=header.alpha,
        noise=header.noise,
        largest_radius=header.largest_radius,
        assured=None if confidence is None else assured(results, radii, confidence),
    )


def paired_difference(one: Results, other: Results) -> tuple[float, float]:
    """ACR(one) − ACR(other) over the images both have, and its standard error; pairing removes what images share."""
    if any(r.header.grid is not None for r in (one, other)):
        raise InputError("a log of `curve` holds radii rounded down to a grid: it has no ACR to compare")
    if one.header.bound != other.header.bound:
        raise InputError(f"{one.name} and {other.name} use different bounds (single and pair): not comparable")
    mine, theirs = shared_images(one, other)
    gaps = contributions(one)[mine] - contributions(other)[theirs]
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))


def shared_images(one: Results, other: Results, least: int = 2) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each log holds the images that both have, in the same order; at least so many."""
    _, mine, theirs = np.intersect1d(one.index, other.index, assume_unique=True, return_indices=True)
    if len(mine) < least:
        raise InputError(f"{one.name} and {other.name} have fewer than {least} images in common")
    if not np.array_equal(one.label[mine], other.label[theirs]):
        raise InputError(f"{one.name} and {other.name} give different labels to the same image: other data sets?")
    return mine, theirs


def wilson(share: NDArray[np.float64], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's (1927) 95 % interval for a share seen in n images; unlike share ± 2 s.e. it is not empty at 0 and 1."""
    centre = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    reach = _Z / (1 + _Z**2 / n) * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return np.clip(centre - reach, 0, 1), np.clip(centre + reach, 0, 1)
