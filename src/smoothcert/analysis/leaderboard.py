"""Logs side by side, per data set and noise: at equal votes, on the same images, with what each one cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.contestant import Contestant, authors_logs, contestant
from smoothcert.analysis.metrics import default_radii, shared_images
from smoothcert.analysis.results import Results
from smoothcert.errors import InputError

Floats = NDArray[np.float64]
EDGES = (0.5, 0.9, 0.99, 0.999)
"""between which images are counted by p̂_A"""


@dataclass(frozen=True)
class Place:
    """A row of a board: what one log reached and what it cost. All numbers are at the board's n."""

    name: str
    origin: str
    """"ours", "authors" (a log of the paper that the package carries) or "TSV" (somebody's log that states nothing)"""
    acr: float | None
    """None for a log of `curve`, whose radii are points of a grid"""
    standard_error: float
    """over images; what another training would give is not in it"""
    difference: float | None
    """ACR minus that of the first row, image by image on the images of both; None for the first and without an ACR"""
    difference_standard_error: float
    images: int
    n: int
    """votes an image of the log itself"""
    certified_accuracy: dict[float, float | None]
    p_a: tuple[float, ...]
    """shares of images without a certificate of the right class, and of those with one by p̂_A in [½, .9), [.9, .99),
    [.99, .999), [.999, 1]: votes for the class, of all n; under the pair bound the first of these has all below .9"""
    passes: float | None
    """forward-backward passes an image of the training set went through"""
    minutes: float | None
    """of training, by the median epoch"""
    passes_per_vote: int
    """networks that one vote of f runs through: k of an ensemble of k"""
    reduced: str | None
    """in what it is less than its recipe, such as fewer epochs; or that its log is unfinished"""


@dataclass(frozen=True)
class Board:
    """Logs of one data set, noise, bound and α, the largest ACR first."""

    data: str
    noise: str
    bound: str
    """"single", or "pair", which proves larger radii"""
    n: int
    """votes an image: the fewest of the logs; what has more is brought down, by the mean over all ways to leave out"""
    alpha: float
    common: bool
    """whether all rows are of the same images"""
    places: tuple[Place, ...]
    notes: tuple[str, ...]


def leaderboard(
    logs: Sequence[Results], radii: Sequence[float] | None = None, common: bool = True, published: bool = True
) -> list[Board]:
    """A board for each data set and noise among the logs.

    Args:
        logs: certifications, ours or published TSV logs (taken to be of n = 100,000 and α = 0.001, as the papers say)
        radii: of the certified accuracies; None: 0, 0.25, … up to the largest
        common: only images that all logs of a board have; else each log on its own images
        published: put the authors' logs that the package carries beside

    Returns:
        boards, by data set and σ
    """
    found: dict[tuple[str, tuple[str, float], str, float], list[Contestant]] = {}
    for one in map(contestant, logs):
        found.setdefault((one.data, one.law, one.results.header.bound, one.alpha), []).append(one)
    boards = []
    for key in sorted(found):
        beside = authors_logs(found[key]) if published else []
        boards.append(_board(found[key], beside, radii, common))
    return boards


def _board(ours: list[Contestant], beside: list[Contestant], radii: Sequence[float] | None, common: bool) -> Board:
    n, notes = min(one.n for one in ours), list[str]()
    for one in [one for one in ours if one.n > n and not one.reducible]:
        notes.append(
            f"left out: {one.name}: {one.procedure} with n = {one.n:,}, which cannot be brought to {n:,} votes"
        )
    ours = [one for one in ours if one.n == n or one.reducible]
    for one in ours[1:]:
        _require_same_data(ours[0], one)
    index = reduce(np.intersect1d, (one.results.index for one in ours))
    if common and len(index) < 2:
        raise InputError(f"the logs of {ours[0].data} share fewer than 2 images: --own-images takes each by itself")
    usable = [one for one in beside if one.n >= n and len(np.setdiff1d(index, one.results.index)) == 0]
    notes.extend(
        f"left out: {one.name}: not all of these images, or fewer votes" for one in beside if one not in usable
    )
    everyone = [*ours, *usable]
    if common:
        notes.extend(_left_out(ours, len(index)))
        everyone = [one.of_images(index) for one in everyone]
    elif len({len(one.results) for one in everyone}) > 1:
        notes.append("rows are of different images: only the differences compare them")
    chosen = list(radii) if radii is not None else default_radii([one.results for one in everyone])
    scored = [_Scored(one, *one.at(n, chosen)) for one in everyone]
    if radii is None:  # with fewer votes the largest of them may be out of reach
        reached = [i for i in range(len(chosen)) if i == 0 or any(s.certified[:, i].any() for s in scored)]
        chosen = [chosen[i] for i in reached]
        scored = [replace(s, certified=s.certified[:, reached]) for s in scored]
    scored.sort(key=lambda s: -math.inf if s.acr is None else s.acr, reverse=True)
    first = scored[0]
    places = tuple(_place(s, None if s is first else first, chosen) for s in scored)
    down = [one.name for one in everyone if one.n > n]
    if down:
        notes.append(f"brought down to {n:,} votes: {', '.join(down)}")
    notes.extend(dict.fromkeys(note for one in everyone for note in one.notes))
    one = ours[0]
    return Board(one.data, one.noise_words, one.results.header.bound, n, one.alpha, common, places, tuple(notes))


@dataclass(frozen=True)
class _Scored:
    """A log at the board's n: what each image adds to the ACR, and to each certified accuracy (images, radii)."""

    of: Contestant
    radius: Floats
    certified: Floats

    @property
    def acr(self) -> float | None:
        return None if self.of.results.header.grid is not None else float(self.radius.mean())


def _place(scored: _Scored, first: _Scored | None, radii: Sequence[float]) -> Place:
    one, grid = scored.of, scored.of.results.header.grid
    known = [grid is None or r in grid for r in radii]
    shares = [float(share) if k else None for k, share in zip(known, scored.certified.mean(0), strict=True)]
    difference, error = (None, math.nan) if first is None else _difference(scored, first)
    return Place(
        name=one.name,
        origin=one.origin,
        acr=scored.acr,
        standard_error=math.nan if scored.acr is None else _standard_error(scored.radius),
        difference=difference,
        difference_standard_error=error,
        images=len(one.results),
        n=one.n,
        certified_accuracy=dict(zip(map(float, radii), shares, strict=True)),
        p_a=_shares_of_p_a(one),
        passes=one.passes,
        minutes=one.minutes,
        passes_per_vote=one.passes_per_vote,
        reduced=one.reduced,
    )


def _difference(one: _Scored, first: _Scored) -> tuple[float | None, float]:
    """Of the ACRs on the images that both have, and its standard error."""
    mine, theirs = shared_images(one.of.results, first.of.results, least=0)
    if one.acr is None or first.acr is None or len(mine) < 2:
        return None, math.nan
    gaps = one.radius[mine] - first.radius[theirs]
    return float(gaps.mean()), _standard_error(gaps)


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _shares_of_p_a(one: Contestant) -> tuple[float, ...]:
    """What is wrong or abstained first. The pair bound certifies some images of p̂_A < ½ too: they are in the second."""
    bins = np.where(one.certified, np.searchsorted(EDGES[1:], one.p_a, side="right") + 1, 0)
    return tuple(float(share) for share in np.bincount(bins, minlength=len(EDGES) + 1) / len(bins))


def _require_same_data(one: Contestant, other: Contestant) -> None:
    a, b = one.results.header.data, other.results.header.data
    if a and b and a.fingerprint != b.fingerprint:
        raise InputError(f"{one.name} and {other.name} are of different images, both called {a.name}")
    shared_images(one.results, other.results, least=0)  # which also compares their labels


def _left_out(ours: Sequence[Contestant], images: int) -> Iterator[str]:
    for one in ours:
        if len(one.results) > images:
            yield f"{len(one.results) - images:,} images of {one.name} are not in all logs and were left out"
