"""One certificate under attack: search with some noise, judge with other noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from smoothcert.audit.judgement import BEYOND, Judged, resolution
from smoothcert.audit.oracle import Claim, Hard, differentiable, soft
from smoothcert.audit.search import Space, climb, shortest
from smoothcert.errors import InputError
from smoothcert.models.network import declared
from smoothcert.noise import GridNoise
from smoothcert.noise.stream import generator_for
from smoothcert.smoothed.votes import Request, Voter, Votes

REACH = 8  # in units of max(R, scale): nobody searches farther out
SHARES = (0.05, 0.002, 0.01, 0.2)  # of the coordinates that an ℓ₁ step moves, by restart


@dataclass(frozen=True)
class Effort:
    """How hard an image is attacked; all of it decides what is found, none of it what is promised."""

    votes: int = 10_000
    """fresh ones that judge a point; the search takes a fiftieth, its last steps a tenth of them at a time"""
    steps: int = 30
    restarts: int = 4
    views: int = 16
    """noises per gradient"""
    box: bool = False
    """stay in the image range, which the certificate does not ask for"""

    def __post_init__(self) -> None:
        if self.votes < 500:
            raise InputError(f"--votes must be at least 500, not {self.votes}: fewer prove nothing")
        if min(self.steps, self.restarts, self.views) < 1:
            raise InputError("--steps, --restarts and --views must be at least 1")


class CertificateAttack:
    """Soft EOT ascent on the sphere of radius R and with adapted norm, then random search on hard votes, then judges.

    Every noise has a stream of its own, (seed, image, "audit-…", …): none was seen by the certificate, and none of
    those that judge by the search.
    """

    def __init__(self, voter: Voter, claim: Claim, effort: Effort, level: float) -> None:
        self.voter, self.claim, self.effort, self.level = voter, claim, effort, level
        image_range = declared(voter.f).input_range
        if effort.box and image_range is None:
            raise InputError("--box: the model does not declare the range of its images: set f.input_range = (0, 1)")
        x = claim.x.to(voter.device, torch.float32)
        on_grid = isinstance(voter.noise, GridNoise)
        self.space = Space(x, voter.noise.norm, image_range if effort.box else None, on_grid)
        self.scale = max(claim.radius, 0.25 * voter.noise.scale)
        self.reach = REACH * max(claim.radius, voter.noise.scale)
        self.few, self.more = effort.votes // 50, effort.votes // 10
        self.tried = 0

    def __call__(self) -> dict[str, Any]:
        """The row of this image; its x' of a violation, if there is one, is under "x"."""
        directions, lengths = self._directions()
        judged = [self._judge(self._inside(directions), 0)]
        best = int(lengths.argmin())
        if lengths[best] < math.inf:
            step = resolution(self.voter.noise.scale, self.effort.votes)
            for number, steps in enumerate(BEYOND, 1):
                if judged[-1][0].p_value <= self.level and number > 1:
                    break
                beyond = self.space.at(directions[best, None], lengths[best, None] + steps * step)[0]
                judged.append(self._judge(beyond, number))
        proved = [(j, x) for j, x in judged if j.p_value <= self.level]
        broken = [(j, x) for j, x in proved if j.distance < self.claim.radius or j.distance == 0]
        row: dict[str, Any] = {
            "index": self.claim.index,
            "class": self.claim.label,
            "radius": self.claim.radius,
            "found": min((j.distance for j, _ in proved), default=None),
            "violation": bool(broken),
            "tried": self.tried,
            "inside": judged[0][0].row(),
            "outside": [j.row() for j, _ in judged[1:]],
        }
        return row | ({"x": broken[0][1].cpu().numpy()} if broken else {})

    def _directions(self) -> tuple[Tensor, Tensor]:
        """All that were found, and the least length along the best of them that fools the votes of the search."""
        directions, lengths = self._soft()
        start = self._random("hard", 2)
        if len(directions):  # polish the best, and start once afresh
            start[0] = directions[int(lengths.argmin())]
        length = float(lengths.min().clamp(max=self.reach)) if len(directions) else self.scale
        hard, steps = Hard(self.voter, self.claim, self.few), (self.effort.steps + 1) // 2
        keep = torch.tensor([SHARES[0]] * len(start))
        more = climb(hard, self.space, start, length, steps, adapt=True, keep=keep)
        self.tried += steps * len(start)
        directions, lengths = torch.cat([directions, more]), torch.cat([lengths, self._lengths(more)])
        best = lengths.argsort()[:2]
        again = self._lengths(directions[best], near=lengths[best])
        return directions, torch.full_like(lengths, math.inf).index_copy(0, best, again)

    def _soft(self) -> tuple[Tensor, Tensor]:
        """By gradients: on the sphere of radius R, and with adapted norm. None where f has no gradient."""
        effort, space = self.effort, self.space
        if not differentiable(self.voter.f, space.x):
            return space.x.new_empty((0, *space.x.shape)), torch.empty(0, dtype=torch.float64)
        keep, found = torch.tensor([SHARES[i % len(SHARES)] for i in range(effort.restarts)]), []
        for purpose, adapt in (("ball", False), ("norm", True)):
            start = self._random(purpose, effort.restarts)
            start[0] = 0  # the first climbs from x itself
            oracle = partial(soft, self.voter, self.claim, effort.views, purpose)
            found.append(climb(oracle, space, start, self.scale, effort.steps, adapt=adapt, keep=keep))
            self.tried += effort.steps * effort.restarts
        directions = torch.cat(found)
        return directions, self._lengths(directions)

    def _random(self, purpose: str, size: int) -> Tensor:
        device = self.voter.device
        generator = generator_for(device, self.voter.seed, self.claim.index, f"audit-start-{purpose}")
        return torch.empty((size, *self.space.x.shape), device=device).normal_(generator=generator)

    def _lengths(self, directions: Tensor, near: Tensor | None = None) -> Tensor:
        """How far one must go along each; `near` where that is known roughly, then with more votes."""
        if near is None:
            high, n = torch.full((len(directions),), self.scale, dtype=torch.float64), self.few
            low, rounds = torch.zeros_like(high), 5
        else:
            high, n = near.clamp(max=self.reach), self.more
            low, rounds = 0.85 * high, 4

        def fooled(points: Tensor) -> Tensor:
            self.tried += len(points)
            return torch.from_numpy(self._votes(points, "audit-line", n).argmax(1) != self.claim.label)

        return shortest(fooled, self.space, directions, low, high, self.reach, rounds)

    def _inside(self, directions: Tensor) -> Tensor:
        """Of all directions, cut off inside the ball, the point where c leads by the fewest votes."""
        points = self.space.inside(directions, self.claim.radius)
        votes = self._votes(points, "audit-inside", self.few)
        self.tried += len(points)
        return points[int(np.argmin(votes[:, self.claim.label] - _without(votes, self.claim.label).max(1)))]

    def _judge(self, point: Tensor, number: int) -> tuple[Judged, Tensor]:
        """The rival is named by votes of the search; then n fresh ones are drawn."""
        c, n = self.claim.label, self.effort.votes
        rival = int(_without(self._votes(point[None], f"audit-rival-{number}", self.more), c)[0].argmax())
        votes = self._votes(point[None], f"audit-judge-{number}", n)[0]
        self.tried += 1
        distance = float(self.space.distance(point[None])[0])
        return Judged(distance, rival, int(votes[c]), int(votes[rival]), n), point

    def _votes(self, points: Tensor, stage: str, n: int) -> Votes:
        return self.voter.count([Request(x, self.claim.index, stage, 0, n) for x in points])


def _without(votes: Votes, label: int) -> Votes:
    others = votes.copy()
    others[:, label] = -1
    return others
