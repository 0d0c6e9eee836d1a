"""SmoothMix against a step written out image by image, and what becomes of it without its parts."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from smoothcert.attacks import PGD
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective, SmoothMix

B, K, M = 6, 4, 3


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 20), nn.Tanh(), nn.Linear(20, K)).double()


def images() -> tuple[Tensor, Tensor]:
    """Labels as the network has them, save one: it must not be mixed."""
    x = torch.rand(B, 1, 4, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y = network()(x).argmax(1)
    y[0] = (y[0] + 1) % K
    return x, y


def draw() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def draws() -> tuple[Tensor, Tensor]:
    """Noise and l, as a step draws them one after the other."""
    generator = draw()
    noise = torch.empty(M, B, 1, 4, 4, dtype=torch.float64).normal_(0.0, 0.25, generator=generator)
    return noise, torch.empty(1, B, dtype=torch.float64).uniform_(generator=generator)[0] / 2


def smoothed(f: nn.Module, x: Tensor, noise: Tensor) -> Tensor:
    return sum((f((x + n)[None])[0].softmax(0) for n in noise), torch.zeros(K, dtype=torch.float64)) / len(noise)


def climb(f: nn.Module, x: Tensor, y: int, noise: Tensor, step: float, steps: int, damping: float = 1e-8) -> Tensor:
    for _ in range(steps):
        x = x.detach().requires_grad_()
        g = torch.autograd.grad(-smoothed(f, x, noise)[y].log(), x)[0]
        x = (x.detach() + step * g / (g.norm() + damping)).clamp(0, 1)
    return x.detach()


def plain_loss(f: nn.Module, eta: float, step: float, steps: int, detached: bool, one_step: float | None) -> Tensor:
    (x, y), (noise, share), total = images(), draws(), torch.zeros((), dtype=torch.float64)
    for b in range(B):
        start = x[b] if one_step is None else climb(f, x[b], int(y[b]), noise[:, b], one_step, 1, damping=0.0)
        adversary = climb(f, x[b], int(y[b]), noise[:, b], step, steps)
        label = sum(-f((start + n)[None])[0].log_softmax(0)[y[b]] for n in noise[:, b]) / M
        p_bar = smoothed(f, start, noise[:, b])
        mixed = (1 - share[b]) * start + share[b] * adversary
        target = (1 - share[b]) * (p_bar.detach() if detached else p_bar) + share[b] / K
        kl = sum((target * (target / f((mixed + n)[None])[0].softmax(0)).log()).sum() for n in noise[:, b]) / M
        total = total + label + (eta * kl if int(p_bar.argmax()) == y[b] else 0.0)
    return total / B


def gradient(f: nn.Module, loss: Tensor) -> Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(f.parameters()))])


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("one_step", [None, 0.7])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_whole_step_is_that_of_the_equations(steps: int, one_step: float | None, detached: bool) -> None:
    """Value and gradient in all weights, whatever x̂, x̃, l and t are; PGD's one step of 2ε is cut to ε, so undamped."""
    f, (x, y) = network(), images()
    attack = None if one_step is None else PGD(one_step, steps=1)
    term = SmoothMix(eta=3.0, step=0.7, steps=steps, warmup=1, detached=detached)
    ours = Objective(Gaussian(0.25), (CrossEntropy(), term), M, attack)(f, x, y, draw())
    wanted = plain_loss(f, 3.0, 0.7, steps, detached, one_step)
    torch.testing.assert_close(ours.loss, wanted, rtol=1e-9, atol=0)
    torch.testing.assert_close(gradient(f, ours.loss), gradient(f, wanted), rtol=1e-7, atol=1e-9)


def test_a_detached_target_has_the_same_value_and_another_gradient() -> None:
    f, (x, y) = network(), images()
    losses = [
        Objective(Gaussian(0.25), (SmoothMix(3.0, 0.7, 2, 1, detached),), M)(f, x, y, draw()).loss
        for detached in (False, True)
    ]
    assert losses[0] == losses[1] > 0
    assert (gradient(f, losses[0]) - gradient(f, losses[1])).abs().max() > 1e-3


def test_without_weight_it_is_gaussian_bit_by_bit_and_batch_norm_sees_nothing_else() -> None:
    x, y = images()

    def trained(*terms: CrossEntropy | SmoothMix) -> tuple[Tensor, Tensor, Tensor]:
        torch.manual_seed(0)
        f = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(12, K)).double()
        loss = Objective(Gaussian(0.25), terms, M)(f, x, y, draw()).loss
        return loss, gradient(f, loss), f[1].running_mean

    for gaussian, smoothmix in zip(
        trained(CrossEntropy()), trained(CrossEntropy(), SmoothMix(0.0, 1.0, 4)), strict=True
    ):
        assert torch.equal(gaussian, smoothmix)


def test_the_adversary_leaves_every_ball_but_not_the_image_range() -> None:
    f, (x, y) = network(), images()
    objective = Objective(Gaussian(0.25), (SmoothMix(1.0, 1.0, 8),), M)
    place = objective.views(f, x, y, draw()).elsewhere["smooth_mix"]
    noise, share = draws()
    torch.testing.assert_close(place.aside[0], share)
    mixed = (place.views - noise)[0]
    adversary = x + (mixed - x) / share.view(-1, 1, 1, 1)
    assert adversary.min() >= -1e-9 and adversary.max() <= 1 + 1e-9
    assert (adversary - x).flatten(1).norm(dim=1).max() > 1.2 and (share < 0.5).all() and share.std() > 0.05


def test_the_weight_rises_over_the_warm_up() -> None:
    term = SmoothMix(5.0, 1.0, 4, warmup=10)
    assert [round(term.at(e).eta, 12) for e in (0, 4, 9, 50)] == [0.5, 2.5, 5.0, 5.0]
    assert term.at(0).at(7) == term.at(0)
    half = Objective(Gaussian(0.25), (CrossEntropy(), term, Consistency(1.0)), 2, ramp=2.0).at(1)
    assert half.terms[1].eta == 0.5  # type: ignore[attr-defined]  # of ramp and warm-up: ½ · 2/10 · 5


@pytest.mark.parametrize("share", [0.0, 1e-30, 0.25])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_saturated_networks_and_unmixed_images_never_give_a_nan(share: float, dtype: torch.dtype) -> None:
    logits = torch.tensor([[[1e4, 0.0, -1e4]], [[9e3, 0.0, -1e4]]], dtype=dtype, requires_grad=True)
    there = torch.tensor([[[-1e4, 0.0, 1e4]], [[0.0, 0.0, 0.0]]], dtype=dtype, requires_grad=True)
    charge = SmoothMix(1.0, 1.0, 1)(logits, torch.tensor([0]), there, torch.tensor([share], dtype=dtype))
    slopes = torch.autograd.grad(charge.sum(), (logits, there))
    assert charge.isfinite().all() and all(slope.isfinite().all() for slope in slopes)


def test_what_makes_no_sense_is_refused_in_one_line() -> None:
    for values, message in [
        ({"eta": -1.0}, "eta must be a number >= 0"),
        ({"step": float("nan")}, "step must be a number >= 0"),
        ({"steps": -1}, "steps must be at least 0"),
        ({"warmup": 0}, "warmup must be at least 1 epoch"),
    ]:
        with pytest.raises(InputError, match=f"SmoothMix: {message}"):
            SmoothMix(**({"eta": 1.0, "step": 1.0, "steps": 2} | values))
    x, y = images()
    with pytest.raises(InputError, match=r"an attack needs images in \[0, 1\]"):
        Objective(Gaussian(0.25), (SmoothMix(1.0, 1.0, 1),), M)(network(), x + 1, y, draw())
