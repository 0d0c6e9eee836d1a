"""A training step of each method as it is commonly written: what bench/train_step.py compares with.

Contiguous NCHW, Python lists of m tensors, a forward pass per view where that is the habit, boolean indexing, and
`.item()` for the log at every step. It computes what the objectives compute, so that the times can be compared.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.distributions.normal import Normal
from torch.nn import functional

from smoothcert.attacks import DDN, PGD
from smoothcert.objectives import MACER, Consistency, Objective, Stability


def naive_step(objective: Objective, f: nn.Module, x: Tensor, y: Tensor, log: list[float]) -> None:
    m, sigma = objective.m, objective.noise.scale
    noises = [torch.randn_like(x) * sigma for _ in range(m)]
    if objective.attack is not None:
        f.eval()
        for p in f.parameters():
            p.requires_grad_(False)
        attack = pgd if isinstance(objective.attack, PGD) else ddn
        x = attack(objective.attack, f, x, y, noises)  # type: ignore[arg-type]
        f.train()
        for p in f.parameters():
            p.requires_grad_(True)
    first = objective.terms[0]
    if isinstance(first, Stability):
        loss = stability(first, f, x, y, noises[0])
    elif isinstance(first, MACER):
        loss = macer(first, f, x, y, noises)
    else:
        logits = f(torch.cat([x + noise for noise in noises]))
        loss = functional.cross_entropy(logits, y.repeat(m))
        log.append((logits.argmax(1) == y.repeat(m)).float().mean().item())
        for term in objective.terms[1:]:
            assert isinstance(term, Consistency)
            charge = consistency(term, list(logits.chunk(m)))
            log.append(charge.item())
            loss = loss + charge
    log.append(loss.item())
    loss.backward()


def consistency(term: Consistency, logits: list[Tensor]) -> Tensor:
    p = [functional.softmax(z, dim=1) for z in logits]
    p_bar = sum(p) / len(p)
    kl = [functional.kl_div(functional.log_softmax(z, dim=1), p_bar, reduction="none").sum(1) for z in logits]
    entropy = -(p_bar * torch.log(p_bar.clamp(min=1e-20))).sum(1)
    return (term.lbd * sum(kl) / len(kl) + term.eta * entropy).mean()


def stability(term: Stability, f: nn.Module, x: Tensor, y: Tensor, noise: Tensor) -> Tensor:
    clean, noisy = f(x), f(x + noise)
    drift = -(functional.softmax(clean, dim=1) * functional.log_softmax(noisy, dim=1)).sum(1).mean()
    return functional.cross_entropy(clean, y) + term.lbd * drift


def macer(term: MACER, f: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor]) -> Tensor:
    law = Normal(0.0, 1.0)
    logits = torch.stack(f(torch.cat([x + noise for noise in noises])).chunk(len(noises)), dim=1)
    label = functional.nll_loss(torch.log(functional.softmax(logits, dim=2).mean(1) + 1e-10), y)
    top, classes = functional.softmax(term.beta * logits, dim=2).mean(1).topk(2)
    top = top[classes[:, 0] == y]
    z = law.icdf(top[:, 0].clamp(1e-7, 1 - 1e-7)) - law.icdf(top[:, 1].clamp(1e-7, 1 - 1e-7))
    keep = ~torch.isnan(z) & ~torch.isinf(z) & (z.abs() <= term.gamma)
    return label + term.lbd * term.sigma / 2 * (term.gamma - z[keep]).sum() / len(x)


def mean_loss(f: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    logits = [f(x + noise) for noise in noises]
    p_bar = sum(functional.softmax(z, dim=1) for z in logits) / len(noises)
    return functional.nll_loss(torch.log(p_bar.clamp(min=1e-20)), y), logits


def norm(v: Tensor) -> Tensor:
    return v.reshape(len(v), -1).norm(dim=1).view(-1, 1, 1, 1)


def pgd(attack: PGD, f: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor]) -> Tensor:
    adv = x.clone()
    for _ in range(attack.steps):
        adv.requires_grad_()
        loss, _ = mean_loss(f, adv, y, noises)
        grad = torch.autograd.grad(loss, [adv])[0]
        adv = adv.detach() + 2 * attack.epsilon / attack.steps * grad / (norm(grad) + 1e-8)
        adv = torch.clamp(x + (adv - x).renorm(p=2, dim=0, maxnorm=attack.epsilon), 0, 1)
    return adv.detach()


def ddn(attack: DDN, f: nn.Module, x: Tensor, y: Tensor, noises: list[Tensor]) -> Tensor:
    delta, best = torch.zeros_like(x), torch.zeros_like(x)
    best_norm = torch.full((len(x),), math.inf)
    rho = torch.full((len(x), 1, 1, 1), attack.epsilon)
    for t in range(attack.steps):
        delta.requires_grad_()
        loss, logits = mean_loss(f, x + delta, y, noises)
        grad = torch.autograd.grad(loss, [delta])[0]
        delta = delta.detach()
        success = torch.stack([z.argmax(1) for z in logits]).mode(0).values != y
        better = success & (norm(delta).flatten() < best_norm)
        if better.any().item():
            best[better], best_norm[better] = delta[better], norm(delta).flatten()[better]
        alpha = 0.01 + 0.495 * (1 + math.cos(math.pi * (t + 1) / attack.steps))
        delta = delta + alpha * grad / (norm(grad) + 1e-8)
        rho = rho * (1 - attack.gamma * (2 * success.float() - 1).view(-1, 1, 1, 1))
        adv = torch.clamp(((x + rho * delta / (norm(delta) + 1e-8)) * 255).round() / 255, 0, 1)
        delta = adv - x
    return x + best.renorm(p=2, dim=0, maxnorm=attack.epsilon)
