"""Certified accuracy of a whole set, with a confidence of its own: of these images, and of images like these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smoothcert.analysis.results import Results
from smoothcert.errors import InputError
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.stats.image_set import robust_images, robust_share


@dataclass(frozen=True)
class Assured:
    """Lower bounds on the true robust accuracy at each radius; those of one kind hold together at this confidence.

    None where the log says nothing: at radii a `curve` log did not ask about, or where it does not state its α.
    """

    confidence: float
    of_these_images: dict[float, float | None]
    """the share of the selected images that g classifies rightly within the radius: random is the noise alone"""
    of_the_population: dict[float, float | None]
    """the same share of all images like these: random are noise and images, drawn independently of each other"""


def assured(results: Results, radii: Sequence[float], confidence: float) -> Assured:
    """Both bounds at every radius; the allowed error 1 − confidence is divided among the radii.

    An image that is selected but not in the log counts as not certified: it may be missing because of its votes, as the
    slow images of an unfinished log are.

    Args:
        results: a log, as `read_log` gives it
        radii: of all the statements that are to hold together; a single one has the whole error to itself
        confidence: such as 0.99

    Example:
        >>> log = read_log("results/runs/mnist-consistency-0.50-seed0")  # doctest: +SKIP
        >>> assured(log, [1.0], 0.99).of_these_images[1.0] >= 0.9  # doctest: +SKIP
        True
    """
    if not 0 < confidence < 1:
        raise InputError(f"the confidence must lie strictly between 0 and 1, not {confidence}")
    alpha, grid = results.header.alpha, results.header.grid
    images = max(len(results), results.header.selected or 0)
    right = results.correct & (results.predict != ABSTAIN)
    asked = [float(r) for r in radii if alpha is not None and (grid is None or float(r) in grid)]
    these: dict[float, float | None] = dict.fromkeys(map(float, radii))
    population = dict(these)
    for r in asked:
        how = int((right & (results.radius >= r)).sum()), images, alpha or 0.0, (1 - confidence) / len(asked)
        these[r], population[r] = robust_images(*how) / images, robust_share(*how)
    return Assured(confidence, these, population)
