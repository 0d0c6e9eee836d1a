"""NoisePGD against loops in plain words over single draws, what it keeps, and when a draw stops."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from smoothcert.attacks import NoisePGD
from smoothcert.attacks.noise_attack import KEPT
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective

M, B, K = 4, 6, 5


def network() -> nn.Module:
    torch.manual_seed(0)
    f = nn.Sequential(nn.Flatten(), nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, K)).double().eval()
    with torch.no_grad():
        f[3].weight *= 4
    return f


def views_of(f: nn.Module) -> Callable[[Tensor], Tensor]:
    return lambda views: torch.stack([f(view) for view in views])


def some_images() -> tuple[Tensor, Tensor, Tensor]:
    """Images, draws, and soft targets of which one has a class without any vote."""
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(B, 2, 4, 4, generator=generator, dtype=torch.float64)
    delta = 0.5 * torch.randn(M, B, 2, 4, 4, generator=generator, dtype=torch.float64)
    votes = torch.rand(B, K, generator=generator, dtype=torch.float64)
    votes[0, 1:3] = 0
    return x, delta, votes / votes.sum(1, keepdim=True)


Y = network()(some_images()[0]).argmax(1)
Y[0] = (Y[0] + 1) % K  # one image is wrong from the start


def slope(f: nn.Module, x: Tensor, delta: Tensor, target: Tensor) -> Tensor:
    """Of 1/m KL(t ‖ softmax f(x + δ)), the share that one draw has in the mean."""
    delta = delta.clone().requires_grad_()
    p = f((x + delta)[None])[0].softmax(0)
    loss = sum((t * (t / p[k]).log() for k, t in enumerate(target.tolist()) if t > 0), torch.tensor(0.0)) / M
    return torch.autograd.grad(loss, delta)[0]


def moments_loop(f: nn.Module, x: Tensor, draw: Tensor, target: Tensor, epsilon: float, steps: int) -> Tensor:
    delta = draw
    for _ in range(steps):
        g = slope(f, x, delta, target)
        delta = delta + 2 * epsilon / steps * g / (g.norm() + 1e-8)
        way = delta - draw
        delta = draw + (way * epsilon / way.norm() if way.norm() > epsilon else way)
        assert (delta - draw).norm() <= epsilon * (1 + 1e-12)
        scale = draw.square().mean().sqrt() / delta.square().mean().sqrt()
        delta = draw.mean() + scale * (delta - delta.mean())
    return delta


def norm_loop(f: nn.Module, x: Tensor, draw: Tensor, y: int, epsilon: float, steps: int) -> Tensor:
    delta = draw
    for _ in range(steps):
        if int(f((x + delta)[None]).argmax()) != y:
            return delta
        g = slope(f, x, delta, torch.eye(K, dtype=torch.float64)[y])
        delta = delta + epsilon / steps * g / (g.norm() + 1e-8)
        delta = delta * draw.norm() / (delta.norm() + 1e-8)
    return delta


def one_by_one(loop: Callable[..., Tensor], targets: Tensor, epsilon: float, steps: int) -> Tensor:
    f, (x, delta, _) = network(), some_images()
    return torch.stack(
        [torch.stack([loop(f, x[b], delta[i, b], targets[b], epsilon, steps) for b in range(B)]) for i in range(M)]
    )


@pytest.mark.parametrize(("epsilon", "steps"), [(0.3, 1), (1.0, 4), (2.0, 5), (1.0, 0)])
def test_with_moments_it_is_the_loop_of_cat_rs(epsilon: float, steps: int) -> None:
    x, delta, votes = some_images()
    ours = NoisePGD(epsilon, steps, keep="moments")(views_of(network()), x, votes, delta)
    torch.testing.assert_close(ours, one_by_one(moments_loop, votes, epsilon, steps), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("epsilon", "steps"), [(0.3, 1), (0.75, 3), (2.0, 4), (8.0, 6), (1.0, 0)])
def test_with_the_norm_it_is_the_loop_of_sun_and_others(epsilon: float, steps: int) -> None:
    x, delta, _ = some_images()
    ours = NoisePGD(epsilon, steps, keep="norm")(views_of(network()), x, Y, delta)
    torch.testing.assert_close(ours, one_by_one(norm_loop, Y, epsilon, steps), rtol=1e-9, atol=1e-9)


def test_labels_are_targets_of_one_class() -> None:
    x, delta, _ = some_images()
    for keep in KEPT:
        by_label, by_vote = (
            NoisePGD(1.0, 4, keep)(views_of(network()), x, t, delta) for t in (Y, torch.eye(K, dtype=torch.float64)[Y])
        )
        torch.testing.assert_close(by_label, by_vote)


def rows(delta: Tensor) -> Tensor:
    return delta.flatten(0, 1).flatten(1)


def test_the_norm_of_each_draw_is_kept() -> None:
    x, delta, _ = some_images()
    moved = NoisePGD(3.0, 5, keep="norm")(views_of(network()), x, Y, delta)
    torch.testing.assert_close(rows(moved).norm(dim=1), rows(delta).norm(dim=1), rtol=1e-7, atol=0)
    assert (rows(moved) != rows(delta)).any(1).float().mean() > 0.1


def test_the_mean_of_each_draw_is_kept_and_its_root_mean_square_nearly() -> None:
    """r'² = mean⁰² + r⁰² (1 − mean²/r²) by the released formula: r⁰² if the means are 0, which they nearly are."""
    x, delta, votes = some_images()
    moved = rows(NoisePGD(1.0, 4, keep="moments")(views_of(network()), x, votes, delta))
    draw = rows(delta)
    torch.testing.assert_close(moved.mean(1), draw.mean(1), rtol=0, atol=1e-14)
    ratio = moved.square().mean(1) / draw.square().mean(1)
    assert (moved != draw).all() and (ratio - 1).abs().max() < 0.2  # 32 pixels: a share of 1/32 is one deviation
    large = 0.5 * torch.randn(2, 1, 3, 64, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weight = torch.randn(3 * 64 * 64, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    target, x = torch.tensor([0]), torch.rand(1, 3, 64, 64, dtype=torch.float64)
    moved = rows(NoisePGD(1.0, 4, keep="moments")(lambda v: v.flatten(2) @ weight, x, target, large))
    ratio = moved.square().mean(1) / rows(large).square().mean(1)
    assert (ratio - 1).abs().max() < 1e-3


def test_a_draw_that_is_misclassified_stays_and_others_go_on() -> None:
    """F(z) = (z_1, 0): class 0 is left where x_1 + δ_1 < 0, and the gradient leads there."""
    x, delta = torch.zeros(2, 2, dtype=torch.float64), torch.tensor([[[0.6, 0.8], [-0.6, 0.8]]], dtype=torch.float64)

    def g(views: Tensor) -> Tensor:
        return torch.stack([views[..., 0], 0 * views[..., 0]], dim=-1)

    labels = torch.tensor([0, 0])
    ends = [NoisePGD(0.5 * steps, steps, keep="norm")(g, x, labels, delta)[0] for steps in range(6)]
    assert all(torch.equal(end[1], delta[0, 1]) for end in ends)  # wrong from the start
    first = [float(end[0, 0]) for end in ends]
    assert first[0] == 0.6 and first == sorted(first, reverse=True) and first[1] > 0 > first[2]
    assert first[2] == first[3] == first[5]  # it stopped at its first misclassification


@pytest.mark.parametrize("keep", KEPT)
def test_the_loss_of_the_views_rises(keep: str) -> None:
    f, (x, delta, _) = network(), some_images()
    moved = NoisePGD(1.0, 4, keep)(views_of(f), x, Y, delta)
    before, after = (CrossEntropy()(views_of(f)(x + d), Y).detach() for d in (delta, moved))
    assert (after >= before).all() and after.mean() > before.mean() + 0.05


@pytest.mark.parametrize("keep", KEPT)
def test_each_draw_is_moved_alike_in_any_company_and_nothing_is_overwritten(keep: str) -> None:
    f, (x, delta, _) = network(), some_images()
    kept, state = delta.clone(), torch.get_rng_state()
    attack = NoisePGD(1.0, 4, keep)
    together = attack(views_of(f), x, Y, delta)
    alone = attack(views_of(f), x[2:4], Y[2:4], delta[:, 2:4])
    torch.testing.assert_close(together[:, 2:4], alone)
    assert torch.equal(delta, kept) and torch.equal(state, torch.get_rng_state()) and not together.requires_grad
    assert all(p.grad is None for p in f.parameters())


@pytest.mark.parametrize("keep", KEPT)
def test_where_no_gradient_leads_nothing_moves_far_and_nothing_is_nan(keep: str) -> None:
    x, delta, _ = some_images()
    flat = NoisePGD(1.0, 4, keep)(lambda v: v.flatten(2)[..., :K] * 0.0, x, Y, delta)
    torch.testing.assert_close(flat, delta, rtol=0.2, atol=0.2)
    zero = NoisePGD(1.0, 4, keep)(lambda v: v.flatten(2)[..., :K] * 0.0, x, Y, 0 * delta)
    steep = NoisePGD(1.0, 4, keep)(lambda v: v.flatten(2)[..., :K] * 1e5, x, Y, delta)
    assert zero.isfinite().all() and steep.isfinite().all()


def test_without_steps_training_is_as_without_the_attack_also_before_its_start() -> None:
    f, (x, _, _) = network(), some_images()
    terms = (CrossEntropy(), Consistency(2.0))
    plain = Objective(Gaussian(0.5), terms, 2)(f, x, Y, torch.Generator().manual_seed(0))
    late = NoisePGD(1.0, 4, start=3, warmup=2)
    for attack in (NoisePGD(1.0, 0), late.at(2)):
        attacked = Objective(Gaussian(0.5), terms, 2, attack)(f, x, Y, torch.Generator().manual_seed(0))
        assert torch.equal(plain.logits, attacked.logits) and plain.loss == attacked.loss
    assert [late.at(e) for e in (3, 4, 9)] == [NoisePGD(0.5, 4), NoisePGD(1.0, 4), NoisePGD(1.0, 4)]
    moved = Objective(Gaussian(0.5), terms, 2, late.at(4))(f, x, Y, torch.Generator().manual_seed(0))
    assert moved.loss > plain.loss


def test_what_makes_no_sense_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="keep must be moments or norm, not 'norms': did you mean norm"):
        NoisePGD(1.0, 4, keep="norms")
    with pytest.raises(InputError, match="start must be an epoch 0, 1"):
        NoisePGD(1.0, 4, start=-1)
