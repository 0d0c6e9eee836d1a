"""A run beside the log that the authors published of another network, as if theirs had been given our votes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from smoothcert.analysis import Results
from smoothcert.analysis.fewer_votes import with_fewer_votes
from smoothcert.analysis.metrics import contributions
from smoothcert.errors import InputError
from smoothcert.paper.published import Published
from smoothcert.procedures.bound import SINGLE
from smoothcert.procedures.fixed import Fixed
from smoothcert.recipes import Certification


@dataclass(frozen=True)
class AtEqualVotes:
    """ACR(ours) − ACR(theirs) on the images of ours, with n of ours, and what follows for all images."""

    theirs: float
    """on our images"""
    difference: float
    standard_error: float
    """over images; that of other trainings is not in it"""
    interval: tuple[float, float]
    """95 %, for the difference on all images"""
    theirs_everywhere: float
    """on all images of their log"""

    @property
    def everywhere(self) -> float:
        """Ours on all images: theirs there, and the difference where both are known."""
        return self.theirs_everywhere + self.difference


def at_equal_votes(ours: Results, log: Published, sigma: float) -> AtEqualVotes:
    """Their votes follow from their radii; of 100,000 an image those of ours are drawn, on average over all draws."""
    n, how = ours.header.n, ours.header.procedure
    if not isinstance(how, Fixed) or (how.bound, how.alpha) != (SINGLE, Certification.alpha):
        raise InputError(f"{ours.name}: was not certified as the authors did: CERTIFY with α = {Certification.alpha:g}")
    if n is None or n > Certification.n:
        raise InputError(f"{ours.name}: certified with {n} votes, the authors had {Certification.n:,}")
    theirs = with_fewer_votes(log.contribution, sigma, Certification.n, n)
    at = np.searchsorted(log.index, ours.index)
    if not np.isin(ours.index, log.index).all() or not np.array_equal(log.label[at], ours.label):
        raise InputError(f"{ours.name}: holds other images than the authors' log")
    gaps = contributions(ours) - theirs[at]
    images, everywhere = len(gaps), len(theirs)
    error = float(gaps.std(ddof=1)) * math.sqrt(1 / images - 1 / everywhere)
    difference, reach = float(gaps.mean()), float(stdtrit(images - 1, 0.975)) * error
    return AtEqualVotes(
        theirs=float(theirs[at].mean()),
        difference=difference,
        standard_error=error,
        interval=(difference - reach, difference + reach),
        theirs_everywhere=float(theirs.mean()),
    )
