"""CAT-RS against a step written out image by image, the law of K, and what becomes of it without its parts."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from smoothcert.attacks import NoisePGD
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.objectives import CatRS, CrossEntropy, Objective

B, K, M = 8, 4, 4


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 20), nn.Tanh(), nn.Linear(20, K)).double()


def images() -> tuple[Tensor, Tensor, Tensor]:
    """Labels as the network has them, save two, and votes of which some are sure."""
    generator = torch.Generator().manual_seed(2)
    x = torch.rand(B, 1, 4, 4, generator=generator, dtype=torch.float64)
    y = network()(x).argmax(1)
    y[:2] = (y[:2] + 1) % K
    votes = torch.rand(B, K, generator=generator, dtype=torch.float64)
    votes[torch.arange(B), y] += torch.arange(B)
    votes[-1] = torch.eye(K, dtype=torch.float64)[y[-1]]
    return x, y, votes / votes.sum(1, keepdim=True)


def draw() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def draws() -> tuple[Tensor, Tensor]:
    generator = draw()
    noise = torch.empty(M, B, 1, 4, 4, dtype=torch.float64).normal_(0.0, 0.25, generator=generator)
    return noise, torch.empty(M, B, dtype=torch.float64).uniform_(generator=generator)


def divergence(p: Tensor, logits: Tensor) -> Tensor:
    q = logits.softmax(0)
    return sum((p[k] * (p[k] / q[k]).log() for k in range(len(p)) if p[k] > 0), torch.zeros((), dtype=torch.float64))


def plain_loss(f: nn.Module, term: CatRS) -> tuple[Tensor, list[int]]:
    """And the K of each image. The attack has a plain loop of its own in tests/attacks."""
    (x, y, votes), (noise, uniform), total, ks = images(), draws(), torch.zeros((), dtype=torch.float64), []
    moved = NoisePGD(term.epsilon, term.steps, "moments")(lambda v: torch.stack([f(z) for z in v]), x, votes, noise)
    for b in range(B):
        logits = [f((x[b] + n)[None])[0] for n in noise[:, b]]
        own = sum(int(z.argmax()) == y[b] for z in logits) / M
        q = own if term.confidence == "own" else float(votes[b, y[b]])
        k = max(1, sum(float(u) < q for u in uniform[:, b]))
        losses = sorted((-z.log_softmax(0)[y[b]] for z in logits), key=torch.Tensor.item)
        total = total + sum(losses[:k]) / M
        if k == M:
            worst = max((divergence(votes[b], f((x[b] + n)[None])[0]) for n in moved[:, b]), key=torch.Tensor.item)
            total = total + term.lbd * worst
        ks.append(k)
    return total / B, ks


def gradient(f: nn.Module, loss: Tensor) -> Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(f.parameters()))])


@pytest.mark.parametrize("confidence", ["own", "first"])
@pytest.mark.parametrize(("lbd", "steps"), [(0.0, 4), (2.0, 0), (2.0, 4)])
def test_a_whole_step_is_that_of_the_equations(lbd: float, steps: int, confidence: str) -> None:
    f, (x, y, votes) = network(), images()
    term = CatRS(lbd, epsilon=0.5, steps=steps, confidence=confidence)
    ours = Objective(Gaussian(0.25), (term,), M)(f, x, y, draw(), votes)
    wanted, ks = plain_loss(f, term)
    assert min(ks) < M == max(ks)
    torch.testing.assert_close(ours.loss, wanted, rtol=1e-9, atol=0)
    torch.testing.assert_close(gradient(f, ours.loss), gradient(f, wanted), rtol=1e-7, atol=1e-9)


def test_sure_of_everything_and_without_worst_case_it_is_gaussian() -> None:
    f, (x, y, _) = network(), images()
    votes = torch.eye(K, dtype=torch.float64)[y]
    ours = Objective(Gaussian(0.25), (CatRS(0.0, confidence="first"),), M)(f, x, y, draw(), votes).loss
    gaussian = Objective(Gaussian(0.25), (CrossEntropy(),), M)(f, x, y, draw()).loss
    torch.testing.assert_close(ours, gaussian, rtol=1e-14, atol=0)
    torch.testing.assert_close(gradient(f, ours), gradient(f, gaussian), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("q", [0.0, 0.25, 0.7, 1.0])
def test_k_is_binomial_and_at_least_one(q: float) -> None:
    """K is read from the charge of views whose cross-entropies are all 1: chi-squared at level 1e-4, seed fixed."""
    n, m = 20_000, 4
    logits = torch.zeros(m, n, 2, dtype=torch.float64)
    logits[..., 0] = -torch.tensor(1.0, dtype=torch.float64).expm1().log()  # CE of class 0 is 1
    votes = torch.tensor([q, 1 - q], dtype=torch.float64).expand(n, 2)
    uniform = torch.rand(m, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.zeros(n, dtype=torch.long)
    k = (m * CatRS(0.0, confidence="first")(logits, y, None, votes, uniform)).round().long()
    law = stats.binom(m, q).pmf(range(m + 1))
    law[1] += law[0]
    seen = torch.bincount(k, minlength=m + 1).numpy()
    assert seen[0] == 0 and not seen[1:][law[1:] == 0].any()
    wanted = n * law[1:][law[1:] > 0]
    assert stats.chisquare(seen[1:][law[1:] > 0], wanted * n / wanted.sum()).pvalue > 1e-4 or len(wanted) == 1


def test_the_worst_case_is_charged_by_its_weight() -> None:
    z = torch.zeros(2, 1, 2, dtype=torch.float64)
    there = torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]]], dtype=torch.float64)
    votes, y, uniform = torch.tensor([[0.9, 0.1]], dtype=torch.float64), torch.tensor([0]), torch.zeros(2, 1).double()
    charge = CatRS(2.0)(z, y, there, votes, uniform) - CatRS(0.0)(z, y, None, votes, uniform)
    worst = max(float(divergence(votes[0], there[i, 0])) for i in range(2))
    assert float(charge) == pytest.approx(2.0 * worst, rel=1e-12)


def test_what_makes_no_sense_is_refused_in_one_line() -> None:
    for values, message in [
        ({"lbd": -1.0}, "lbd must be a number >= 0"),
        ({"epsilon": float("inf")}, "epsilon must be a number >= 0"),
        ({"steps": -1}, "steps must be at least 0"),
        ({"confidence": "third"}, "confidence must be own or first, not 'third'"),
    ]:
        with pytest.raises(InputError, match=f"CatRS: {message}"):
            CatRS(**({"lbd": 1.0} | values))
