"""PGD against the closed-form optimum of a linear model, and against the loop of the paper's code in plain words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from smoothcert.attacks import PGD
from smoothcert.attacks.ascent import ascent, smoothed_loss
from smoothcert.errors import InputError

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


def confident(logits: Tensor) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """Views of images of a certain margin each, and those images: ‖∇‖ = ‖w‖ p(other class), whatever the image."""
    return lambda x: torch.stack([torch.stack([x @ W - x.detach() @ W + logits, 0 * (x @ W)], dim=1)]), torch.full(
        (len(logits), D), 0.5, dtype=torch.float64
    )


def step_of_the_mean(logits: Tensor, images: int, epsilon: float) -> Tensor:
    """How long a step of 2ε is if 1e-8 is added to the gradient of the mean of `images` losses."""
    slope = W.norm() * torch.sigmoid(-logits) / images
    return 2 * epsilon * slope / (slope + 1e-8)


MARGINS = torch.tensor([5.0, 14.0, 17.0, 20.0, 23.0], dtype=torch.float64)  # gradients of 4e-2 … 5e-10


@pytest.mark.parametrize(("damping", "batch", "images"), [("image", 99, 1), ("batch", None, 5), ("batch", 64, 64)])
def test_a_confident_image_makes_a_shorter_step_and_the_batch_of_the_whole_step_counts(
    damping: str, batch: int | None, images: int
) -> None:
    g, x = confident(MARGINS)
    x_adv = PGD(0.3, 1, damping=damping)(g, x, torch.zeros(5, dtype=torch.long), batch=batch)
    wanted = step_of_the_mean(MARGINS, images, 0.3).clamp(max=0.3)
    torch.testing.assert_close((x_adv - x).norm(dim=1), wanted, rtol=1e-5, atol=1e-9)
    assert ((wanted > 0.001) & (wanted < 0.299)).any()  # the law is seen: neither nothing nor a full step


def mean_loop(f: nn.Module, x: Tensor, y: Tensor, noises: Tensor, epsilon: float, steps: int) -> Tensor:
    """All images at once, as the paper's code has it: the loss is one mean, and 1e-8 stands beside its gradient."""
    adv = x
    for _ in range(steps):
        adv = adv.detach().requires_grad_()
        p = torch.stack([f(adv + noise).softmax(1) for noise in noises]).mean(0)
        slope = torch.autograd.grad(-p[range(len(y)), y].log().mean(), adv)[0].flatten(1)
        way = adv.detach() - x + (2 * epsilon / steps * slope / (slope.norm(dim=1, keepdim=True) + 1e-8)).view_as(x)
        long = way.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
        adv = (x + way * (epsilon / long).clamp(max=1)).clamp(0, 1)
    return adv.detach()


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("lead", [0.0, 16.0, 20.0])
def test_with_the_batchs_damping_it_is_the_loop_of_the_papers_code_on_saturated_networks_too(
    m: int, lead: float
) -> None:
    torch.manual_seed(0)
    f = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 4)).double()
    with torch.no_grad():
        f[3].bias[0] += lead
    x, noises = torch.rand(40, 1, 4, 4, dtype=torch.float64), 0.05 * some_noise(m, 40, 1, 4, 4)
    y = torch.zeros(40, dtype=torch.long)
    ours = PGD(0.7, 6, damping="batch")(lambda z: torch.stack([f(z + n) for n in noises]), x, y)
    wanted = mean_loop(f, x, y, noises, 0.7, 6)
    torch.testing.assert_close(ours, wanted, rtol=1e-9, atol=1e-9)
    if lead:
        others = PGD(0.7, 6)(lambda z: torch.stack([f(z + n) for n in noises]), x, y)
        assert (others - wanted).abs().max() > 1e-3  # the law of the image would be seen


@pytest.mark.parametrize("size", [1e-3, 1e-9, 1e-25, 1e-38, 1e-42])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_damping_every_step_is_full_however_small_the_gradient(size: float, dtype: torch.dtype) -> None:
    """In float32 the square of 1e-25 is 0, and 1e-42 has few digits left: the length must not suffer."""
    x = torch.full((2, 3), 0.5, dtype=dtype)
    slopes = torch.tensor([[3.0, 0.0, -4.0], [0.0, 0.0, 0.0]], dtype=dtype) * size

    def g(z: Tensor) -> Tensor:  # at 0 the loss log 2 − side/2 has half the slope of the side
        side = ((z - z.detach()) * slopes).sum(1)
        return torch.stack([torch.stack([0 * side, side], dim=1)])

    x_adv = PGD(0.2, 4, damping="none")(g, x, torch.tensor([0, 0]))
    way = torch.tensor([[0.12, 0.0, -0.16], [0.0, 0.0, 0.0]], dtype=dtype)  # four steps of ε/2, held at ε
    torch.testing.assert_close(x_adv - x, way, rtol=1e-2 if size < 1e-40 else 1e-5, atol=1e-7)
    one = PGD(0.2, 1, damping="none")(g, x, torch.tensor([0, 0])) - x
    assert float(one[0].norm()) == pytest.approx(0.2, rel=1e-5) and not one[1].any()


def test_an_unknown_damping_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="damping must be none or image or batch, not 'btach': did you mean batch"):
        PGD(1.0, 4, damping="btach")
