"""What a log claims of all its images at one radius: the sentence at the head of a page."""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.analysis.assured import assured
from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import setting_of
from smoothcert.errors import InputError
from smoothcert.noise import GridUniform, Uniform
from smoothcert.procedures.certificate import ABSTAIN

CONFIDENCE = 0.99


@dataclass(frozen=True)
class Claim:
    """`certified` of `images` have a certificate of this radius; so many of them are then robust with `confidence`."""

    radius: float
    norm: str
    confidence: float
    certified: int
    images: int
    """selected; one that is not in the log counts as not certified"""
    of_these_images: float | None
    """None where the log does not state α"""
    of_the_population: float | None


def claim_of(results: Results, radius: float | None = None, confidence: float = CONFIDENCE) -> Claim:
    """At the radius asked for, or at one that depends on the noise alone: it may not be chosen after the results."""
    if radius is not None and not 0 <= radius < float("inf"):
        raise InputError(f"--radius must be a number >= 0, not {radius}")
    r = _asked_about(results, _usual_radius(results) if radius is None else radius)
    found = assured(results, [r], confidence)
    return Claim(
        r,
        results.header.norm,
        confidence,
        int((results.correct & (results.predict != ABSTAIN) & (results.radius >= r)).sum()),
        max(len(results), results.header.selected or 0),
        found.of_these_images[r],
        found.of_the_population[r],
    )


def _usual_radius(results: Results) -> float:
    """σ of Gaussian noise, b of Laplace noise; half of w, which no certificate under uniform noise reaches."""
    noise = results.header.noise
    if noise is None:
        return setting_of(results).sigma or 0.0
    return noise.scale / 2 if isinstance(noise, Uniform | GridUniform) else noise.scale


def _asked_about(results: Results, radius: float) -> float:
    """Of a `curve` log the next larger radius of its grid, which proves the smaller one too; else its largest."""
    grid = results.header.grid
    return radius if grid is None else min((r for r in grid if r >= radius), default=max(grid))
