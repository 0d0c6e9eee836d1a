"""Which way leads out: two ways to ask the smoothed classifier, both with fresh noise at every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from smoothcert.attacks.ascent import ascent
from smoothcert.noise.stream import generator_for
from smoothcert.smoothed.votes import Voter, votes_per_block


@dataclass(frozen=True)
class Claim:
    """g = label on the ball of this radius around x."""

    index: int
    x: Tensor
    label: int
    radius: float


def soft(
    voter: Voter, claim: Claim, views: int, purpose: str, points: Tensor, step: int
) -> tuple[Tensor, Tensor]:  # (B, …) → (B, …), (B,)
    """u = ∇ −log E_i softmax F_c(x' + δ_i) over m fresh δ_i: EOT on the soft surrogate [Athalye 2018; Salman 2019].

    Also whether the mean of the views is fooled at each point.
    """
    size, device = len(points), points.device
    noise = torch.empty((views, *points.shape), device=device)
    voter.noise.fill(noise, generator_for(device, voter.seed, claim.index, f"audit-soft-{purpose}", step))
    c = torch.full((size,), claim.label, device=device)
    directions, logits = ascent(lambda x: voter.f((x + noise).flatten(0, 1)).view(views, size, -1), points, c)
    return directions, logits.log_softmax(-1).logsumexp(0).argmax(-1) != c


@dataclass
class Hard:
    """u = E[δ | f(x' + δ) ≠ c] − E[δ | f(x' + δ) = c]: a search by random trials that needs no gradient.

    For Gaussian noise it points along ∇ P[f(x' + δ) ≠ c], by Stein's identity; for others it is a heuristic. Where no
    trial votes against c, the next step tries with noise twice as wide.
    """

    voter: Voter
    claim: Claim
    trials: int
    spread: dict[int, float] = field(default_factory=dict)

    def __call__(self, points: Tensor, step: int) -> tuple[Tensor, Tensor]:
        found = [self._ask(number, x, step) for number, x in enumerate(points)]
        return torch.stack([u for u, _ in found]), torch.tensor([fooled for _, fooled in found], device=points.device)

    def _ask(self, number: int, x: Tensor, step: int) -> tuple[Tensor, bool]:
        voter, label, spread = self.voter, self.claim.label, self.spread.get(number, 1.0)
        generator = generator_for(x.device, voter.seed, self.claim.index, f"audit-hard-norm-{number}", step)
        sums, counts = torch.zeros((2, *x.shape), device=x.device), torch.zeros(2)
        votes: list[Tensor] = []
        block = votes_per_block(x.shape)
        with torch.no_grad():
            for start in range(0, self.trials, block):
                buffer = torch.empty((min(block, self.trials - start), *x.shape), device=x.device)
                noise = voter.noise.fill(buffer, generator)
                votes.append(voter.f(x + spread * noise).argmax(1))
                against = (votes[-1] != label).to(noise)
                for side, weight in enumerate((1 - against, against)):
                    sums[side] += torch.tensordot(weight, noise, 1)
                    counts[side] += float(weight.sum())
        fooled = spread == 1.0 and int(torch.cat(votes).bincount().argmax()) != label
        self.spread[number] = min(8.0, 2 * spread) if counts[1] == 0 else max(1.0, spread / 2)
        if counts[1] == 0:
            return torch.zeros_like(x), fooled
        return sums[1] / counts[1].to(x) - sums[0] / counts[0].clamp(min=1).to(x), fooled


def differentiable(f: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Whether f lets gradients through; an ONNX model does not."""
    try:
        with torch.enable_grad():
            return f(x.detach().expand(2, *x.shape).clone().requires_grad_()).requires_grad
    except RuntimeError:
        return False
