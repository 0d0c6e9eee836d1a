"""DDN against a plain second implementation of the released loop, and where the two are meant to differ."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from functools import cache

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR

from smoothcert.attacks import DDN

EPSILON, STEPS, GAMMA, IMAGES = 0.6, 10, 0.05, 30


def rates(steps: int) -> list[float]:
    """The step sizes of a loop that asks torch's own scheduler before each step, as the released one does."""
    optimizer = SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = CosineAnnealingLR(optimizer, T_max=steps, eta_min=0.01)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch objects to that order since 1.1, and from then on skips the first value
        for _ in range(steps):
            scheduler.step()
            found.append(optimizer.param_groups[0]["lr"])
    return found


def rates_before_torch_1_1(steps: int) -> list[float]:
    """There the first call gave the first value."""
    return [0.01 + 0.99 * (1 + math.cos(math.pi * t / steps)) / 2 for t in range(steps)]


def released(f: nn.Module, x: Tensor, y: int, noises: Tensor, alphas: list[float], round_last: bool) -> Tensor:
    """One image. δ grows where the vote holds and shrinks where it changed; the shortest that changed it comes back."""
    way, best, longest = torch.zeros_like(x), torch.zeros_like(x), torch.max(x, 1 - x).norm()
    rho, least = torch.tensor(EPSILON, dtype=x.dtype), longest
    for alpha in alphas:
        here = (x + way).requires_grad_()
        logits = [f((here + noise)[None])[0] for noise in noises]
        counts = Counter(int(z.argmax()) for z in logits)
        vote = min(k for k in counts if counts[k] == max(counts.values()))
        mean = sum(z.softmax(0)[y] for z in logits) / len(logits)
        (slope,) = torch.autograd.grad(-torch.log(mean), here)
        if vote != y and way.norm() < least:
            best, least = way, way.norm()
        way = way + alpha * slope / slope.norm()
        rho = min(rho * (1 - GAMMA if vote != y else 1 + GAMMA), longest)
        pixels = (255 * (x + way * rho / way.norm())).round() / 255
        way = pixels.clamp(0, 1) - x
    if best.norm() > EPSILON:
        best = best * EPSILON / best.norm()
    return x + ((255 * best).round() / 255 if round_last else best)


@cache
def attacked(m: int) -> tuple[Tensor, Tensor, nn.Module, Tensor, Tensor]:
    """Images on the grid, ours of them, and all that the other implementation needs."""
    torch.manual_seed(m)
    f = nn.Sequential(nn.Flatten(), nn.Linear(36, 24), nn.Tanh(), nn.Linear(24, 4)).double()
    with torch.no_grad():
        f[3].weight.mul_(4.0)
    x = (255 * torch.rand(IMAGES, 1, 6, 6, dtype=torch.float64)).round() / 255
    noises = 0.1 * torch.randn(m, IMAGES, 1, 6, 6, dtype=torch.float64)
    y = f(x).argmax(1)
    y[::9] = (y[::9] + 1) % 4  # some are wrong from the start
    ours = DDN(EPSILON, STEPS, GAMMA)(lambda z: torch.stack([f(z + n) for n in noises]), x, y)
    return x, ours, f, y, noises


def theirs(m: int, alphas: list[float], round_last: bool) -> Tensor:
    x, _, f, y, noises = attacked(m)
    return torch.stack([released(f, x[b], int(y[b]), noises[:, b], alphas, round_last) for b in range(IMAGES)])


@pytest.mark.parametrize("m", [1, 2, 4, 8])
def test_it_is_the_released_loop_but_for_the_last_rounding(m: int) -> None:
    x, ours, *_ = attacked(m)
    torch.testing.assert_close(ours, theirs(m, rates(STEPS), round_last=False), rtol=0, atol=1e-9)
    moved = (ours - x).flatten(1).norm(dim=1)
    assert (moved > 0).sum() > IMAGES / 3 and (moved > 0.999 * EPSILON).any(), "nothing was found or cut back"


@pytest.mark.parametrize("m", [1, 4])
def test_the_last_rounding_moves_a_pixel_by_half_a_level_and_leaves_the_ball(m: int) -> None:
    """So ours has none: what training charges for lies in the ball that the recipe names."""
    x, ours, *_ = attacked(m)
    rounded = theirs(m, rates(STEPS), round_last=True)
    apart = float((ours - rounded).abs().max())
    assert 1e-3 < apart <= 0.5 / 255 + 1e-9
    outside = (rounded - x).flatten(1).norm(dim=1).max() - EPSILON
    assert 1e-4 < outside <= math.sqrt(36) * 0.5 / 255
    assert (ours - x).flatten(1).norm(dim=1).max() <= EPSILON + 1e-12


def test_torch_skips_the_first_value_of_the_cosine_since_1_1() -> None:
    assert rates(STEPS)[:-1] == pytest.approx(rates_before_torch_1_1(STEPS)[1:])
    assert rates(STEPS)[-1] == pytest.approx(0.01)
    apart = (attacked(4)[1] - theirs(4, rates_before_torch_1_1(STEPS), round_last=False)).abs().max()
    assert 0.005 < float(apart) < 0.1  # a few levels of a pixel: it is another attack
