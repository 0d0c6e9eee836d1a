"""Denoising and noise prediction: against plain sums, and against what theory says of the best denoiser."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.models.diffusion import alpha_bar
from smoothcert.objectives import GOALS, Denoising, NoisePrediction, Through

X = torch.rand(6, 1, 4, 4, generator=torch.Generator().manual_seed(0))
Y = torch.zeros(6, dtype=torch.long)


def draw(seed: int = 5) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def identity(x: Tensor, sigma: Tensor) -> Tensor:
    return x


class Small(nn.Module):
    """A denoiser with weights, which listens to its level."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            self.conv = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        return self.conv(x) * (1 + level.to(x)[:, None, None, None])


def small_classifier() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return nn.Sequential(nn.Flatten(), nn.Linear(16, 3)).eval().requires_grad_(False)


def gradients(loss: Tensor, f: nn.Module) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(f.parameters())))


@pytest.mark.parametrize("sigma", [0.25, 1.0])
def test_the_squared_error_of_a_network_that_does_nothing_is_the_variance_of_the_noise(sigma: float) -> None:
    x = torch.rand(1, 1, 2000, 2000, generator=draw(1))
    goal = Denoising((sigma,))
    error = goal.charge(identity, goal.views(None, x, Y[:1], draw()), Y[:1]).loss.item()
    deviation = math.sqrt(2 / x.numel())  # of a mean of squares of normal numbers; 5 of them: once in 2 million
    assert abs(error / sigma**2 - 1) < 5 * deviation


@pytest.mark.parametrize(("mse", "stability"), [(1.0, 0.0), (0.0, 1.0), (10.0, 0.5)])
def test_charges_are_those_of_images_taken_one_by_one(mse: float, stability: float) -> None:
    d, classifier = Small(), small_classifier()
    goal = Denoising((0.25, 1.0), mse=mse, stability=stability)
    through = Through(goal, classifier) if stability else goal
    charges = through.charge(d, through.views(d, X, Y, draw()), Y)

    generator = draw()
    sigmas = [(0.25, 1.0)[int(i)] for i in torch.randint(2, (6,), generator=generator)]
    noise = torch.empty_like(X).normal_(generator=generator)
    assert len(set(sigmas)) == 2
    losses, errors = [], []
    for x, sigma, delta in zip(X, sigmas, noise, strict=True):
        x_hat = d((x + sigma * delta)[None], torch.tensor([sigma]))[0]
        errors.append(sum((a - b) ** 2 for a, b in zip(x_hat.flatten(), x.flatten(), strict=True)) / 16)
        p = torch.softmax(classifier(x[None])[0], 0)
        q = torch.softmax(classifier(x_hat[None])[0], 0)
        losses.append(mse * errors[-1] - stability * sum(p[k] * torch.log(q[k]) for k in range(3)))
    expected = sum(losses) / 6
    torch.testing.assert_close(charges.loss, expected, rtol=1e-5, atol=0.0)
    for ours, plain in zip(gradients(charges.loss, d), gradients(expected, d), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(charges.seen(Y)["mse"], sum(errors) / 6)


def test_the_best_linear_denoiser_of_gaussian_images_is_the_wiener_filter() -> None:
    """x ~ N(0, Σ): A = Σ(Σ + σ²I)⁻¹. The loss is a square in A: one step of Newton's method finds its minimum."""
    sigma, n = 0.5, 400_000
    root = torch.tensor([[0.5, 0.0, 0.0], [0.3, 0.4, 0.0], [-0.2, 0.1, 0.2]], dtype=torch.float64)
    covariance = root @ root.T
    x = (torch.randn(n, 3, generator=draw(2), dtype=torch.float64) @ root.T).reshape(n, 1, 1, 3)
    goal, y = Denoising((sigma,)), torch.zeros(n, dtype=torch.long)
    views = goal.views(None, x, y, draw())

    def loss(a: Tensor) -> Tensor:
        return goal.charge(lambda noisy, sigma: noisy @ a.reshape(3, 3).T, views, y).loss

    start = torch.zeros(9, dtype=torch.float64, requires_grad=True)
    slope, bend = torch.autograd.functional.jacobian(loss, start), torch.autograd.functional.hessian(loss, start)
    best = -torch.linalg.solve(bend, slope)
    wiener = covariance @ torch.linalg.inv(covariance + sigma**2 * torch.eye(3, dtype=torch.float64))
    # An estimate of A has a deviation of at most about √(0.16/(0.25 n)) = 0.0013; 5 of them.
    torch.testing.assert_close(best.reshape(3, 3), wiener, rtol=0.0, atol=0.0065)
    # What it leaves is trace Σ − trace AΣ, here to 5 deviations √(2/3n) of a mean of squares.
    left = float((covariance - wiener @ covariance).trace()) / 3
    assert loss(best).item() == pytest.approx(left, rel=5 * math.sqrt(2 / n))


def test_stability_of_a_perfect_denoiser_is_the_entropy_of_the_classifier() -> None:
    classifier = small_classifier()
    p = classifier(X).softmax(-1)
    goal = Through(Denoising((0.5,), mse=0.0, stability=1.0), classifier)
    charges = goal.charge(lambda noisy, sigma: X, goal.views(None, X, Y, draw()), Y)
    torch.testing.assert_close(charges.loss, -(p * p.log()).sum(-1).mean())
    assert charges.seen(Y)["agreement"] == 1.0 and charges.seen(Y)["mse"] == 0.0


def test_stability_trains_the_denoiser_and_not_the_classifier() -> None:
    d, classifier = Small(), small_classifier()
    goal = Through(Denoising((0.5,), mse=0.0, stability=1.0), classifier)
    goal.charge(d, goal.views(d, X, Y, draw()), Y).loss.backward()
    assert d.conv.weight.grad is not None and bool(d.conv.weight.grad.any())
    assert all(p.grad is None for p in classifier.parameters())


def test_stability_without_a_classifier_says_so() -> None:
    goal = Denoising((0.5,), stability=1.0)
    with pytest.raises(InputError, match="through a classifier"):
        goal.charge(identity, goal.views(None, X, Y), Y)


def test_every_sigma_is_as_likely_and_one_alone_costs_no_draw() -> None:
    x, y = torch.zeros(3000, 1, 1, 1), torch.zeros(3000)
    sigma = Denoising((0.25, 0.5, 1.0)).views(None, x, y, draw()).sigma
    counts = [int((sigma == each).sum()) for each in (0.25, 0.5, 1.0)]
    assert sum(counts) == 3000 and all(abs(count - 1000) < 5 * math.sqrt(3000 * 2 / 9) for count in counts)
    alone = Denoising((0.5,)).views(None, X, Y, draw())
    assert torch.equal(alone.x_noisy, X + 0.5 * torch.empty_like(X).normal_(generator=draw()))


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_noise_prediction_is_the_sum_that_ho_et_al_write(schedule: str) -> None:
    f, goal = Small(), NoisePrediction(schedule)
    views = goal.views(f, X, Y, draw())
    charges = goal.charge(f, views, Y)
    generator = draw()
    steps = torch.randint(1000, (6,), generator=generator)
    noise = torch.empty_like(X).normal_(generator=generator)
    left, errors = alpha_bar(schedule), []
    for x, t, epsilon in zip(X, steps, noise, strict=True):
        a = float(left[int(t)])
        x_t = math.sqrt(a) * (2 * x - 1) + math.sqrt(1 - a) * epsilon
        errors.append((f(x_t[None], t[None])[0] - epsilon).square().sum() / 16)
    expected = sum(errors) / 6
    torch.testing.assert_close(charges.loss, expected, rtol=1e-5, atol=0.0)
    for ours, plain in zip(gradients(charges.loss, f), gradients(expected, f), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-6)


def test_who_knows_the_image_predicts_the_noise() -> None:
    goal, x = NoisePrediction("linear"), X.double()
    left = torch.from_numpy(alpha_bar("linear").copy())

    def knows(x_t: Tensor, t: Tensor) -> Tensor:
        a = left[t][:, None, None, None]
        return (x_t - a.sqrt() * (2 * x - 1)) / (1 - a).sqrt()

    assert goal.charge(knows, goal.views(None, x, Y, draw()), Y).loss.item() < 1e-20


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_what_is_left_of_an_image_is_a_product_that_falls_from_1_to_0(schedule: str) -> None:
    left, product = alpha_bar(schedule), 1.0
    for t in range(1000):
        if schedule == "linear":
            beta = 1e-4 + (0.02 - 1e-4) * t / 999
        else:
            now, then = (math.cos((s / 1000 + 0.008) / 1.008 * math.pi / 2) ** 2 for s in (t + 1, t))
            beta = min(0.999, 1 - now / then)
        product *= 1 - beta
        assert left[t] == pytest.approx(product, rel=1e-9)
    assert left[0] > 0.999 and left[-1] < 1e-4


@pytest.mark.parametrize("goal", [Denoising(), NoisePrediction("cosine")], ids=repr)
def test_processes_that_share_a_batch_draw_what_one_would(goal: Denoising | NoisePrediction) -> None:
    whole = goal.views(None, X, Y, draw())
    parts = [goal.views(None, X[a:b], Y[a:b], draw(), within=(a, 6)) for a, b in ((0, 2), (2, 3), (3, 6))]
    for name in vars(whole):
        assert torch.equal(torch.cat([getattr(part, name) for part in parts]), getattr(whole, name))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sigmas": ()}, "at least one sigma"),
        ({"sigmas": (0.5, 0.5)}, "each once"),
        ({"sigmas": (0.5, -1.0)}, "positive number"),
        ({"mse": -1.0}, "mse must be a number >= 0"),
        ({"mse": 0.0}, "nothing would be learnt"),
        ({"classifier": "ab"}, "for its stability"),
    ],
)
def test_denoising_that_cannot_be_is_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Denoising(**wrong)  # type: ignore[arg-type]


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown schedule 'cosin': did you mean cosine\?"):
        NoisePrediction("cosin")


@pytest.mark.parametrize("name", [name for name in GOALS if name is not None])
def test_every_goal_charges_what_its_terms_add_up_to_and_is_watched_by_totals(name: str) -> None:
    goal = GOALS[name]()
    if goal.task == "classify":
        f: nn.Module = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
    else:
        f = Small()
    at = goal.at(3.5)
    charges = at.charge(f, at.views(f, X, Y, draw()), Y)
    torch.testing.assert_close(charges.loss, sum(charges.terms.values()))
    charges.loss.backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in f.parameters())
    totals = goal.watch(f, X, Y, draw())
    seen = charges.seen(Y)
    assert totals.keys() == seen.keys()
    for key, total in totals.items():
        torch.testing.assert_close(total, 6 * seen[key])
