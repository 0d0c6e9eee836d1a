"""Which way leads out: two ways to ask the smoothed classifier, both with fresh noise at every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from smoothcert.attacks.soft import ascent
from smoothcert.noise import Noise
from smoothcert.noise.stream import generator_for
from smoothcert.smoothed.votes import votes_per_block


@dataclass(frozen=True)
class Victim:
    """g at one image: f, its noise, the class c that a certificate claims, and the key of all noise drawn here."""

    f: Callable[[Tensor], Tensor]
    noise: Noise
    label: int
    key: tuple[int, int]
    """seed of the audit and index of the image"""


@dataclass(frozen=True)
class Soft:
    """u = ∇ −log E_i softmax F_c(x' + δ_i) over m fresh δ_i: EOT on the soft surrogate [Athalye 2018; Salman 2019]."""

    victim: Victim
    views: int
    purpose: str

    def __call__(self, points: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """(B, …) directions and whether the mean of the views is fooled at each point."""
        v, m, size = self.victim, self.views, len(points)
        noise = torch.empty((m, *points.shape), device=points.device)
        v.noise.fill(noise, generator_for(points.device, *v.key, f"audit-soft-{self.purpose}", step))
        c = torch.full((size,), v.label, device=points.device)
        directions, logits = ascent(lambda x: v.f((x + noise).flatten(0, 1)).view(m, size, -1), points, c)
        return directions, logits.log_softmax(-1).logsumexp(0).argmax(-1) != c


@dataclass
class Hard:
    """u = E[δ | f(x' + δ) ≠ c] − E[δ | f(x' + δ) = c]: a search by random trials that needs no gradient.

    For Gaussian noise it points along ∇ P[f(x' + δ) ≠ c], by Stein's identity; for others it is a heuristic. Where no
    trial votes against c, the next step tries with noise twice as wide.
    """

    victim: Victim
    trials: int
    purpose: str
    spread: dict[int, float] = field(default_factory=dict)

    def __call__(self, points: Tensor, step: int) -> tuple[Tensor, Tensor]:
        found = [self._ask(number, x, step) for number, x in enumerate(points)]
        return torch.stack([u for u, _ in found]), torch.tensor([fooled for _, fooled in found], device=points.device)

    def _ask(self, number: int, x: Tensor, step: int) -> tuple[Tensor, bool]:
        v, spread = self.victim, self.spread.get(number, 1.0)
        generator = generator_for(x.device, *v.key, f"audit-hard-{self.purpose}-{number}", step)
        sums, counts = torch.zeros((2, *x.shape), device=x.device), torch.zeros(2)
        votes: list[Tensor] = []
        with torch.no_grad():
            for size in _chunks(self.trials, votes_per_block(x.shape)):
                noise = v.noise.fill(torch.empty((size, *x.shape), device=x.device), generator)
                votes.append(v.f(x + spread * noise).argmax(1))
                against = (votes[-1] != v.label).to(noise)
                for side, weight in enumerate((1 - against, against)):
                    sums[side] += torch.tensordot(weight, noise, 1)
                    counts[side] += float(weight.sum())
            fooled = spread == 1.0 and int(torch.cat(votes).bincount().argmax()) != v.label
            self.spread[number] = min(8.0, 2 * spread) if counts[1] == 0 else max(1.0, spread / 2)
            direction = sums[1] / counts[1].clamp(min=1).to(x) - sums[0] / counts[0].clamp(min=1).to(x)
        return direction if counts[1] else torch.zeros_like(x), fooled


def differentiable(f: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Whether f lets gradients through; an ONNX model does not."""
    try:
        with torch.enable_grad():
            return f(x.detach().expand(2, *x.shape).clone().requires_grad_()).requires_grad
    except RuntimeError:
        return False


def _chunks(total: int, size: int) -> list[int]:
    return [min(size, total - start) for start in range(0, total, size)]
