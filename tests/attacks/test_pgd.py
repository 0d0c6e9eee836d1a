"""PGD against the closed-form optimum of a linear model, and against the loop of the paper's code in plain words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from smoothcert.attacks import PGD
from smoothcert.attacks.soft import ascent, smoothed_loss

D = 30
W = torch.randn(D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.zeros(4, dtype=torch.long)


def linear(delta: Tensor) -> Callable[[Tensor], Tensor]:
    """F(x) = (wᵀx, 0): whatever the noise, the loss of class 0 grows along −w and along nothing else."""
    return lambda x: torch.stack([torch.stack([(x + d) @ W, 0 * (x @ W)], dim=1) for d in delta])


def some_noise(m: int, *shape: int) -> Tensor:
    return 0.5 * torch.randn(m, *shape, generator=torch.Generator().manual_seed(m), dtype=torch.float64)


def farthest(x: Tensor, epsilon: float) -> Tensor:
    """argmin wᵀx' over ball and box: δ = clip(−t w) with t such that ‖δ‖ = ε, by bisection."""
    low, high = torch.zeros(len(x), 1, dtype=x.dtype), torch.full((len(x), 1), 1e3, dtype=x.dtype)
    for _ in range(200):
        t = (low + high) / 2
        inside = (-t * W).clamp(-x, 1 - x).norm(dim=1, keepdim=True) <= epsilon
        low, high = t.where(inside, low), high.where(inside, t)
    return x + (-low * W).clamp(-x, 1 - x)


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("steps", [1, 2, 10])
@pytest.mark.parametrize("project_first", [True, False])
def test_on_a_linear_model_it_reaches_the_optimum(m: int, steps: int, project_first: bool) -> None:
    x = torch.full((4, D), 0.5, dtype=torch.float64)
    g = linear(some_noise(m, 4, D))
    x_adv = PGD(0.4, steps, project_first=project_first)(g, x, Y)
    optimum = x - 0.4 * W / W.norm()
    torch.testing.assert_close(x_adv, optimum, rtol=1e-6, atol=1e-6)
    wanted = -torch.stack([torch.sigmoid((optimum + d) @ W) for d in some_noise(m, 4, D)]).mean(0).log()
    torch.testing.assert_close(smoothed_loss(g(x_adv), Y), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("project_first", [True, False])
def test_with_the_image_range_in_the_way_it_tends_to_the_optimum(project_first: bool) -> None:
    x = torch.rand(4, D, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    best = (farthest(x, 1.5) - x) @ W
    for steps, share in ((10, 0.97), (100, 0.997), (1000, 0.9997)):
        x_adv = PGD(1.5, steps, project_first=project_first)(linear(some_noise(2, 4, D)), x, Y)
        reached = (x_adv - x) @ W / best
        assert (share <= reached).all() and (reached <= 1 + 1e-9).all()


def paper_loop(f: nn.Module, x: Tensor, y: Tensor, noises: Tensor, epsilon: float, steps: int) -> Tensor:
    """One image at a time, one view at a time: step 2ε/T along g/(‖g‖ + 1e-8), project, clamp."""
    result = []
    for b in range(len(x)):
        start = adv = x[b]
        for _ in range(steps):
            adv = adv.detach().requires_grad_()
            p = [f((adv + noises[i, b])[None])[0].softmax(0)[y[b]] for i in range(len(noises))]
            loss = -torch.log(sum(p) / len(p))
            slope = torch.autograd.grad(loss, adv)[0]
            adv = adv.detach() + 2 * epsilon / steps * slope / (slope.norm() + 1e-8)
            way = adv - start
            if way.norm() > epsilon:
                way = way * epsilon / way.norm()
            adv = (start + way).clamp(0, 1)
        result.append(adv)
    return torch.stack(result)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_it_is_the_loop_of_the_papers_code(m: int) -> None:
    torch.manual_seed(0)
    f = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 4)).double()
    x = torch.rand(5, 1, 4, 4, dtype=torch.float64)
    y, noises = torch.tensor([0, 1, 2, 3, 0]), some_noise(m, 5, 1, 4, 4)
    ours = PGD(0.7, 6)(lambda z: torch.stack([f(z + n) for n in noises]), x, y)
    torch.testing.assert_close(ours, paper_loop(f, x, y, noises, 0.7, 6), rtol=1e-9, atol=1e-9)


def test_the_gradient_survives_where_the_mean_probability_underflows() -> None:
    """p_y = e^−500: its mean is 0 in float32 and its log −∞; the log-sum-exp has value and slope."""
    x = torch.full((1, D), 0.5)
    w = W.float()

    def g(z: Tensor) -> Tensor:
        return torch.stack([torch.stack([z @ w - 500 - z.sum(1) * 0, 0 * (z @ w)], dim=1)] * 2)

    direction, logits = ascent(g, x, Y[:1])
    assert smoothed_loss(logits, Y[:1]).isfinite().all() and (logits[..., 0].exp() == 0).all()
    torch.testing.assert_close(direction[0], -w / w.norm(), rtol=1e-4, atol=1e-5)


def test_no_steps_is_no_attack() -> None:
    x = torch.rand(2, D, dtype=torch.float64)
    assert torch.equal(PGD(1.0, 0)(linear(some_noise(1, 2, D)), x, Y[:2]), x)
