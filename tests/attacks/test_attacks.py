"""What every attack promises: it stays in the ball and in the image range, and it raises the loss."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import torch
from torch import Tensor, nn

from smoothcert import data
from smoothcert.attacks import ATTACKS, DDN, PGD, NoisePGD
from smoothcert.attacks.ascent import smoothed_loss
from smoothcert.attacks.ball import warmed_up
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.objectives import CrossEntropy, Objective

MAKE: dict[str, Callable[[float, int], PGD | DDN]] = {
    "pgd": lambda epsilon, steps: PGD(epsilon, steps),
    "pgd, clamped first": lambda epsilon, steps: PGD(epsilon, steps, project_first=False),
    "pgd, full steps": lambda epsilon, steps: PGD(epsilon, steps, damping="none"),
    "ddn": lambda epsilon, steps: DDN(epsilon, steps),
    "ddn, not quantised": lambda epsilon, steps: DDN(epsilon, steps, quantize=False),
}
every_attack = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


def smoothed(f: Callable[[Tensor], Tensor], delta: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.stack([f(x + delta_i) for delta_i in delta])


def norms(x_adv: Tensor, x: Tensor) -> Tensor:
    return (x_adv.double() - x.double()).flatten(1).norm(dim=1)


@cache
def trained() -> tuple[nn.Module, Tensor, Tensor]:
    """A small network that knows the ten patterns of the fake data under noise, and test images."""
    torch.manual_seed(0)
    f = nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
    train, test = data.load("fake", "train"), data.load("fake", "test")
    objective = Objective(Gaussian(0.5), (CrossEntropy(),), m=2)
    generator = torch.Generator().manual_seed(1)
    x, y = train.batch(torch.arange(len(train)))
    for _ in range(60):
        gradients = torch.autograd.grad(objective(f, x, y, generator).loss, list(f.parameters()))
        with torch.no_grad():
            for p, slope in zip(f.parameters(), gradients, strict=True):
                p -= 0.1 * slope
    return f.eval(), *test.batch(torch.arange(len(test)))


def test_every_attack_of_the_list_is_tested() -> None:
    """Those on the noise in test_noise_attack.py."""
    assert {type(make(1.0, 1)) for make in MAKE.values()} | {NoisePGD} == set(ATTACKS.values())


@every_attack
@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("steps", [1, 3, 10])
@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.5, 2.0, 50.0])
def test_nothing_leaves_the_ball_or_the_image_range(
    make: Callable[[float, int], PGD | DDN], m: int, steps: int, epsilon: float
) -> None:
    f, x, y = trained()
    generator = torch.Generator().manual_seed(m)
    x = x[:12].clone()
    x[0], x[1] = 0.0, 1.0  # corners: half of the directions lead out
    x[2:4] = x[2:4].round()
    x[4:6] = (x[4:6] * 255).round() / 255
    x_adv = make(epsilon, steps)(smoothed(f, Gaussian(0.25).fill(torch.empty(m, *x.shape), generator)), x, y[:12])
    assert x_adv.shape == x.shape and x_adv.dtype == x.dtype and not x_adv.requires_grad
    assert x_adv.min() >= 0 and x_adv.max() <= 1
    assert norms(x_adv, x).max() <= epsilon * (1 + 1e-6) + 1e-6  # rounding of float32 pixels


@every_attack
@pytest.mark.parametrize("m", [1, 4])
def test_the_loss_of_a_trained_network_rises(make: Callable[[float, int], PGD | DDN], m: int) -> None:
    f, x, y = trained()
    g = smoothed(f, Gaussian(0.5).fill(torch.empty(m, *x.shape), torch.Generator().manual_seed(2)))
    x_adv = make(3.0, 20)(g, x, y)
    before, after = smoothed_loss(g(x), y).detach(), smoothed_loss(g(x_adv), y).detach()
    moved = norms(x_adv, x) > 0
    assert moved.float().mean() > 0.9  # DDN gives back images that were wrong from the start
    assert (after[moved] > before[moved]).all() and after.mean() > 10 * before.mean()


@every_attack
def test_a_longer_way_is_a_higher_loss(make: Callable[[float, int], PGD | DDN]) -> None:
    f, x, y = trained()
    g = smoothed(f, Gaussian(0.5).fill(torch.empty(2, *x.shape), torch.Generator().manual_seed(2)))
    losses = [float(smoothed_loss(g(make(e, 10)(g, x, y)), y).mean().detach()) for e in (0.25, 0.5, 1.0, 2.0)]
    assert losses == sorted(losses)


@every_attack
def test_an_image_is_attacked_alike_in_any_company(make: Callable[[float, int], PGD | DDN]) -> None:
    f, x, y = trained()
    f, x = f.double(), x.double()
    delta = torch.zeros(1, *x.shape[1:], dtype=torch.float64)
    together = make(1.0, 5)(smoothed(f, delta), x, y)
    alone = torch.cat([make(1.0, 5)(smoothed(f, delta), x[b : b + 1], y[b : b + 1]) for b in range(4)])
    f.float()
    torch.testing.assert_close(together[:4], alone, rtol=1e-9, atol=1e-9)


@every_attack
def test_the_input_is_not_overwritten_and_nothing_is_drawn(make: Callable[[float, int], PGD | DDN]) -> None:
    f, x, y = trained()
    kept, state = x.clone(), torch.get_rng_state()
    results = [make(1.0, 3)(smoothed(f, torch.zeros(1, *x.shape)), x, y) for _ in range(2)]
    assert torch.equal(x, kept) and torch.equal(*results) and torch.equal(state, torch.get_rng_state())
    assert all(p.grad is None or p.grad.isfinite().all() for p in f.parameters())


@every_attack
def test_where_no_gradient_leads_the_image_stays(make: Callable[[float, int], PGD | DDN]) -> None:
    x = torch.rand(2, 6, generator=torch.Generator().manual_seed(0))
    flat = make(1.0, 4)(lambda z: torch.stack([z * 0.0]), x, torch.tensor([0, 1]))
    assert torch.equal(flat, x)
    steep = make(1.0, 4)(lambda z: torch.stack([z * 1e4 - 5e3]), x, torch.tensor([0, 1]))
    assert steep.isfinite().all()


def test_warm_up_is_linear_and_then_full() -> None:
    assert [round(warmed_up(2.0, e, 10), 12) for e in (0, 1, 8, 9, 10, 80)] == [0.2, 0.4, 1.8, 2.0, 2.0, 2.0]
    assert PGD(2.0, 10, warmup=10).at(0) == PGD(0.2, 10) and DDN(2.0, 10, warmup=10).at(4) == DDN(1.0, 10)
    assert PGD(2.0, 10).at(0) == PGD(2.0, 10)


@pytest.mark.parametrize("kind", ATTACKS.values())
def test_what_makes_no_sense_is_refused_in_one_line(kind: type[PGD | DDN]) -> None:
    for values, message in [
        ((-1.0, 3), "epsilon must be a number >= 0"),
        ((float("nan"), 3), "epsilon must be a number >= 0"),
        ((1.0, -1), "steps must be at least"),
    ]:
        with pytest.raises(InputError, match=message):
            kind(*values)
    with pytest.raises(InputError, match="warmup must be at least 1 epoch"):
        kind(1.0, 3, warmup=0)
    if kind is NoisePGD:  # it moves no image
        return
    for pixel in (-0.1, 1.1, float("nan")):
        x = torch.full((2, 4), 0.5)
        x[1, 2] = pixel
        with pytest.raises(InputError, match=r"an attack needs images in \[0, 1\]"):
            kind(1.0, 3)(lambda z: torch.stack([z]), x, torch.tensor([0, 1]))
