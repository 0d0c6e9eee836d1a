"""May it be released? One certification against a share that is required, or against another certification."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from smoothcert.analysis.assured import assured
from smoothcert.analysis.compare import compare
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.stats.paired_shares import paired_difference_bound

_FEWEST = 100  # images for the t bound of an ACR: hard ones may be missing altogether among fewer


@dataclass(frozen=True)
class AtLeast:
    """A lower bound on the robust accuracy at a radius, beside the one that is required."""

    radius: float
    of: Literal["population", "images"]
    required: float
    bound: float
    certified: int
    images: int
    """that were selected"""
    missing: int
    """of them, which count as not certified"""

    @property
    def holds(self) -> bool:
        return self.bound >= self.required


@dataclass(frozen=True)
class NoWorse:
    """A lower bound on what this one has more than a baseline, image by image, beside the loss that is allowed."""

    radius: float | None
    """of the certified accuracies that are compared; None: the ACR is"""
    margin: float
    difference: float
    bound: float
    images: int
    """that both were asked for"""
    missing: int
    """of them, which this one lacks: they count as not certified"""

    @property
    def holds(self) -> bool:
        return self.bound >= -self.margin


def at_least(
    results: Results,
    radius: float,
    required: float,
    confidence: float = 0.95,
    of: Literal["population", "images"] = "population",
) -> AtLeast:
    """Holds though the true share is below the required one: with probability ≤ 1 − confidence. See `assured`.

    Args:
        results: a log, as `read_log` gives it
        radius: at which an image must be robust
        required: share of the images, such as 0.9
        confidence: such as 0.95
        of: "population": of all images like these; "images": of these alone

    Returns:
        the bound, and whether it `holds`

    Example:
        >>> log = read_log("results/runs/mnist-consistency-0.50-seed0")  # doctest: +SKIP
        >>> at_least(log, 0.5, 0.90).holds  # doctest: +SKIP
        True
    """
    _require_confidence(confidence)
    _require_radius(radius)
    if not 0 < required <= 1:
        raise InputError(f"--at-least is a share above 0 and up to 1, such as 0.9, not {required:g}")
    missing = len(_missing(results))
    found = assured(results, [radius], confidence)
    bound = (found.of_the_population if of == "population" else found.of_these_images)[float(radius)]
    if bound is None:
        raise InputError(
            f"{results.name}: a log of `curve` knows the radii of its grid only, and {radius:g} is not one"
        )
    certified = int((results.correct & (results.predict != ABSTAIN) & (results.radius >= radius)).sum())
    return AtLeast(float(radius), of, required, bound, certified, len(results) + missing, missing)


def no_worse(
    results: Results, baseline: Results, radius: float | None = None, margin: float = 0.01, confidence: float = 0.95
) -> NoWorse:
    """Holds though it is worse by more than the margin: with probability ≤ 1 − confidence.

    That is exact for certified accuracies (`paired_difference_bound`). For ACRs it is the one-sided paired t bound, an
    approximation, so fewer than 100 images are refused.

    Args:
        results: the log in question, as `read_log` gives it
        baseline: the log it is held against, complete; paired are the images that both were asked for
        radius: of the certified accuracies to compare (default: compare ACRs)
        margin: how much worse it may be: a share of the images, or a radius
        confidence: such as 0.95

    Returns:
        difference and bound, and whether it `holds`

    Example:
        >>> new, old = read_log("runs/new"), read_log("runs/old")  # doctest: +SKIP
        >>> no_worse(new, old, radius=0.5, margin=0.02).holds  # doctest: +SKIP
        True
    """
    _require_confidence(confidence)
    if radius is not None:
        _require_radius(radius)
    if not 0 <= margin < math.inf:
        raise InputError(f"--margin must be a number >= 0, not {margin:g}")
    if baseline.header.stated and (lacks := len(_missing(baseline))):
        raise InputError(f"{baseline.name}: the baseline lacks {lacks} of its images: certify them first")
    whole = _with_missing(results, baseline)
    # One end of an interval that leaves out as much on either side.
    found = compare(whole, baseline, [] if radius is None else [float(radius)], 2 * confidence - 1)
    missing = len(whole) - len(results)
    if radius is not None:
        (d,) = found.accuracy
        bound = paired_difference_bound(d.only_one, d.only_other, found.images, 1 - confidence)
        return NoWorse(float(radius), margin, d.difference, bound, found.images, missing)
    if found.acr is None:
        raise InputError("a log of `curve` holds radii rounded down to a grid, and has no ACR: name a --radius")
    if found.images < _FEWEST:
        raise InputError(f"{found.images} images in common are too few to compare ACRs: {_FEWEST}, or name a --radius")
    return NoWorse(None, margin, found.acr.difference, found.acr.t_interval[0], found.images, missing)


def _require_confidence(confidence: float) -> None:
    if not 0.5 < confidence < 1:
        raise InputError(f"--confidence must lie above 0.5 and below 1, not {confidence:g}")


def _require_radius(radius: float) -> None:
    if not 0 <= radius < math.inf:
        raise InputError(f"--radius must be a number >= 0, not {radius:g}")


def _missing(results: Results) -> list[int]:
    """Selected images without a row; refused are logs that do not say, or that hold other images."""
    if results.header.alpha is None or results.header.selection is None or results.header.data is None:
        raise InputError(
            f"{results.name}: does not say its alpha and which images were selected: it proves nothing here"
        )
    selected, here = results.header.images, set(map(int, results.index))
    if not here <= set(selected):
        raise InputError(f"{results.name}: holds images that were not selected: see `smoothcert verify`")
    return [index for index in selected if index not in here]


def _with_missing(results: Results, baseline: Results) -> Results:
    """With an abstention for each image that both were asked for and only the baseline has."""
    lacks = np.isin(baseline.index, _missing(results))
    index, label = baseline.index[lacks], baseline.label[lacks]
    nothing = {"predict": np.full(len(index), ABSTAIN), "radius": np.zeros(len(index)), "correct": index < 0}
    more = {"index": index, "label": label, **nothing}
    columns: dict[str, Any] = {c: np.concatenate([getattr(results, c), values]) for c, values in more.items()}
    return replace(results, **columns, seconds=None, estimation=None)
