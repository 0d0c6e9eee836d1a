"""Certified accuracy and average certified radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.results import LARGEST_RADIUS, Results
from smoothcert.errors import InputError
from smoothcert.procedures.bound import SINGLE
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.procedures.procedure import procedure_of
from smoothcert.recipes.serialize import noise_from_dict


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
    noise: dict[str, Any] | None
    largest_radius: float | None
    """what n unanimous votes give: no image can have more, so an ACR near it says little"""


def certified_accuracy(results: Results, radii: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]:
    """CA(r) = share of images classified correctly, not abstained, with certified radius ≥ r."""
    certified = np.sort(np.where(results.correct & (results.predict != ABSTAIN), results.radius, -1.0))
    below = np.searchsorted(certified, np.asarray(radii, np.float64), side="left")
    return (len(results) - below) / len(results)


def contributions(results: Results) -> NDArray[np.float64]:
    """radius · 1[correct] per image, whose mean is the ACR; an abstention counts 0."""
    return np.where(results.correct & (results.predict != ABSTAIN), results.radius, 0.0)


def grid_of(results: Results) -> list[float] | None:
    """The radii whose certification a `curve` log decided, to which it rounded down; None for any other log."""
    if results.about.get("procedure") != "curve":
        return None
    radii = results.about.get("radii")
    if not isinstance(radii, list) or not all(isinstance(r, int | float) and 0 <= r <= LARGEST_RADIUS for r in radii):
        raise InputError(f"{results.name}: a log of `curve` must name its radii")
    return [float(r) for r in radii]


def default_radii(everything: Sequence[Results]) -> list[float]:
    """0, 0.25, 0.5, … up to the largest certified radius; of `curve` logs their grids."""
    grids = [grid for r in everything if (grid := grid_of(r)) is not None]
    if grids:
        return sorted(set().union(*grids))
    top = max(float(r.radius.max()) for r in everything)
    return [0.25 * i for i in range(int(top / 0.25) + 1)]


def summarize(results: Results, radii: Sequence[float]) -> Summary:
    """ACR = mean of radius · 1[correct], its standard error over images, and CA at the given radii."""
    _require_numbers(results)
    each, about, grid = contributions(results), results.about, grid_of(results)
    error = float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
    accuracy = {
        float(r): float(share) if grid is None or float(r) in grid else None
        for r, share in zip(radii, certified_accuracy(results, list(radii)), strict=True)
    }
    settings = {key: about.get(key) for key in ("n0", "n", "alpha", "noise")}
    return Summary(
        name=results.name,
        acr=float(each.mean()) if grid is None else None,
        acr_standard_error=error if grid is None else float("nan"),
        images=len(results),
        selected=about.get("selected"),
        abstained=int((results.predict == ABSTAIN).sum()),
        certified_accuracy=accuracy,
        largest_radius=_largest(about),
        **settings,
    )


def _require_numbers(results: Results) -> None:
    """A header is written by anyone: what is printed and computed with must be what it is printed as."""
    for key in ("n0", "n", "selected"):
        value = results.about.get(key)
        if value is not None and not (type(value) is int and 0 <= value < 2**53):
            raise InputError(f"{results.name}: its header's {key} is not a whole number")
    alpha = results.about.get("alpha")
    if alpha is not None and not (isinstance(alpha, float) and 0 < alpha < 1):
        raise InputError(f"{results.name}: its header's alpha is not a number between 0 and 1")


def _largest(about: dict[str, Any]) -> float | None:
    if None in (about.get("noise"), about.get("n"), about.get("alpha")):
        return None
    noise = noise_from_dict(about["noise"])
    if about.get("procedure", "paper") == "paper" and about.get("bound", "single") == "single":
        return SINGLE.largest(noise, about["n"], about["alpha"])
    return procedure_of(about, noise).largest


def paired_difference(one: Results, other: Results) -> tuple[float, float]:
    """ACR(one) − ACR(other) over the images both have, and its standard error; pairing removes what images share."""
    if any(grid_of(r) is not None for r in (one, other)):
        raise InputError("a log of `curve` holds radii rounded down to a grid: it has no ACR to compare")
    if one.about.get("bound", "single") != other.about.get("bound", "single"):
        raise InputError(f"{one.name} and {other.name} use different bounds (single and pair): not comparable")
    shared, mine, theirs = np.intersect1d(one.index, other.index, assume_unique=True, return_indices=True)
    if len(shared) < 2:
        raise InputError(f"{one.name} and {other.name} have fewer than two images in common")
    if not np.array_equal(one.label[mine], other.label[theirs]):
        raise InputError(f"{one.name} and {other.name} give different labels to the same image: other data sets?")
    gaps = contributions(one)[mine] - contributions(other)[theirs]
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
