"""No noise comes twice: streams of many keys, blocks far apart, and all votes of a certificate, as f saw them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn

from smoothcert.audit.check import Check, yes
from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.noise.stream import generator_for
from smoothcert.procedures.bound import bound_of
from smoothcert.procedures.certificate import ABSTAIN, Certificate
from smoothcert.procedures.procedure import PROCEDURES
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.votes import Request, Voter

STREAMS = 300_000  # keys of 32 bits would collide ten times among them, and never with probability 3e-5
LONG = 12_000  # votes of one image: 120 blocks
SMALL = (1, 4, 4)


def check_streams(seed: int, device: torch.device, streams: int = STREAMS) -> Iterator[Check]:
    """The first numbers of many streams, all different."""
    neighbours = [(1, 23), (12, 3), (1, 2, 3), (123,), (1, "a"), (-1, "a"), (2**32 + 1, "a"), (2**64 + 1, "a"), ("1a",)]
    few = [_first(generator_for(device, *key), device) for key in neighbours]
    said = "streams of keys that look alike"
    yield yes("all", said, f"{len(set(few))} of {len(few)}", len(set(few)) == len(few))
    numbers = {_first(generator_for(device, seed, i, "estimation", 0), device) for i in range(streams)}
    yield yes("all", f"streams of {streams:,} keys", f"{len(numbers):,} begin differently", len(numbers) == streams)


def _first(generator: torch.Generator, device: torch.device) -> bytes:
    return torch.empty(4, device=device).uniform_(generator=generator).cpu().numpy().tobytes()


class Spy:
    """f, of three classes; keeps all it was asked, but for what is asked before the first vote."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        size = int(np.prod(shape))
        self.weights = torch.randn(size, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        self.rows: list[Tensor] = []

    def __call__(self, x: Tensor) -> Tensor:
        self.rows.append(x.detach().flatten(1).cpu().clone())
        return (x.flatten(1).cpu().double() @ self.weights).to(x.device)

    def seen(self) -> tuple[Tensor, list[int]]:
        """All rows since the last call, and how many votes each class got of them."""
        rows = torch.cat(self.rows)
        self.rows.clear()
        return rows, (rows.double() @ self.weights).argmax(1).bincount(minlength=3).tolist()


def check_votes(noise: Noise, seed: int, device: torch.device) -> Iterator[Check]:
    """A long sample, and every certificate and prediction: as many votes as it says, all fresh, counted right."""
    name, spy = type(noise).__name__.lower(), Spy(SMALL)
    voter = Voter(spy, noise, 3, seed, None, device)
    request = Request(torch.zeros(SMALL), 0, "estimation", 0, LONG)
    voter.require_steady(request)
    spy.rows.clear()
    voter.count([request])
    rows, _ = spy.seen()
    yield _fresh(name, f"{LONG:,} votes of one image", rows, LONG)
    # Two images that differ in the first pixel alone: noise that both get shows in the others.
    xs = torch.full((2, *SMALL), 51 / 255)
    xs[1, 0, 0, 0] = 102 / 255
    g = SmoothedClassifier(spy, noise, 3, seed=seed, device=device)
    g.votes(xs, 1)
    spy.rows.clear()
    for procedure in PROCEDURES:
        for bound in ("single", "pair"):
            try:
                bound_of(bound).require(noise)
            except InputError:
                continue
            found = g.certify_batch(xs, 20, 400, 0.05, procedure=procedure, bound=bound)
            yield from _agree(name, f"{procedure}, {bound} bound", spy, found)
    yield from _agree(name, "watch", spy, [list(islice(g.watch(xs[0], 20, 0.05, step=130), 3))[-1]], last=410)
    predicted = g.predict_batch(xs, 150)
    rows, tally = spy.seen()
    counted = tally == np.sum([p.votes for p in predicted], axis=0).tolist()
    yield yes(name, "predict: votes counted", f"{sum(tally)} of 300", counted and sum(tally) == 300)
    yield _fresh(name, "predict", rows[:, 1:], 300)
    seeds = {SmoothedClassifier(spy, noise, 3, device=device).predict(xs[0], 20).seed for _ in range(2)}
    yield yes(name, "predict: a secret seed for every call", f"{len(seeds)} of 2", len(seeds) == 2)


def _agree(name: str, said: str, spy: Spy, found: list[Certificate], last: int | None = None) -> Iterator[Check]:
    """`last` is the number of votes where the certificate keeps an earlier look than the last."""
    rows, tally = spy.seen()
    claimed = np.sum([c.selection for c in found], axis=0) + np.sum([c.estimation for c in found], axis=0)
    expected = sum(c.votes for c in found) if last is None else last
    yield _fresh(name, said, rows[:, 1:], expected)
    if last is None:
        yield yes(name, f"{said}: votes counted", f"{claimed.tolist()} for {tally}", claimed.tolist() == tally)
    right = all(c.follows and c.label in (ABSTAIN, int(np.argmax(c.selection))) for c in found)
    yield yes(name, f"{said}: certificates follow from their votes", str(right), right)


def _fresh(name: str, said: str, rows: Tensor, expected: int) -> Check:
    different = len(torch.unique(rows, dim=0))
    holds = different == len(rows) == expected
    return yes(name, f"{said}: all noise is fresh", f"{different} of {expected} differ", holds)


def check_refusals(noise: Noise, device: torch.device) -> Iterator[Check]:
    """What would make votes mean nothing is refused."""
    steady = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
    broken: dict[str, Callable[[Tensor], Tensor]] = {
        "in training mode": nn.Sequential(nn.Dropout(), steady).train(),
        "random": lambda x: steady(x + torch.rand_like(x)),
        "of the whole batch": lambda x: steady(x - x.mean(0)),
        "not a number": lambda x: steady(x) * float("nan"),
        "of two classes": lambda x: steady(x)[:, :2],
    }
    steady.to(device)
    for said, f in broken.items():
        try:
            SmoothedClassifier(f, noise, 3, device=device).votes(torch.zeros(SMALL), 20)
            refused = False
        except InputError:
            refused = True
        yield yes("all", f"a classifier that is {said} is refused", str(refused), refused)
