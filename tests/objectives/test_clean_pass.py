"""Stability on a network with batch norm is two plain passes, clean and then noisy."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.optim import SGD

from smoothcert.noise import Gaussian
from smoothcert.objectives import Objective, Stability

SIGMA, LBD = 0.7, 2.0


def network() -> nn.Module:
    torch.manual_seed(0)
    layers = (nn.Conv2d(2, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.Flatten(), nn.Linear(5 * 4 * 4, 3))
    return nn.Sequential(*layers).double().train()


def plain_step(f: nn.Module, x: Tensor, y: Tensor, delta: Tensor) -> None:
    """As one would write it by hand: image after image of two passes."""
    clean = f(x).softmax(1)
    noisy = f(x + delta).softmax(1)
    loss = torch.zeros((), dtype=x.dtype)
    for p, q, label in zip(clean, noisy, y, strict=True):
        loss = loss - p[label].log() - LBD * (p * q.log()).sum()
    (loss / len(x)).backward()


def test_two_steps_end_with_the_weights_and_statistics_of_two_plain_passes() -> None:
    ours = network()
    theirs = deepcopy(ours)
    objective = Objective(Gaussian(SIGMA), (Stability(LBD),))
    optimizers = [SGD(f.parameters(), 0.1, momentum=0.9) for f in (ours, theirs)]
    for step in range(2):
        images = torch.Generator().manual_seed(step)
        x = torch.rand(7, 2, 6, 6, generator=images, dtype=torch.float64)
        y = torch.randint(3, (7,), generator=images)
        delta = SIGMA * torch.empty_like(x).normal_(generator=torch.Generator().manual_seed(100 + step))
        for optimizer in optimizers:
            optimizer.zero_grad()
        objective(ours, x, y, torch.Generator().manual_seed(100 + step)).loss.backward()
        plain_step(theirs, x, y, delta)
        for optimizer in optimizers:
            optimizer.step()
    found, wanted = ours.state_dict(), theirs.state_dict()
    assert int(found["1.num_batches_tracked"]) == 4
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], rtol=1e-12, atol=1e-12)
