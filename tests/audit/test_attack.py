"""Attacks on a half-space, whose nearest point of the other class is known."""

import numpy as np
import pytest
import torch

from smoothcert.audit import oracle
from smoothcert.audit.attack import CertificateAttack, Effort
from smoothcert.audit.oracle import Claim
from smoothcert.audit.search import Space
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, Laplace, Uniform
from smoothcert.smoothed import votes
from smoothcert.smoothed.votes import Voter

MARGIN, SHAPE = 0.7, (1, 4, 4)
EFFORT = Effort(votes=10_000, steps=15, restarts=2, views=8)
MANY = Effort(votes=100_000, steps=15, restarts=2, views=8)
LEVEL = 1e-6
AXIS = torch.eye(16)[5]
SLANTED = torch.randn(16, generator=torch.Generator().manual_seed(3))
SLANTED /= SLANTED.norm()


def half_space(w, differentiable=True):
    """Class 1 where w·x > 0."""

    def f(x):
        score = 10 * x.flatten(1) @ w
        logits = torch.stack([-score, score, torch.full_like(score, -50.0)], 1)
        return logits if differentiable else logits.detach()

    return f


def attack(noise, w, radius, *, label=1, effort=EFFORT, differentiable=True, seed=0):
    x = 0.5 * torch.rand(16, generator=torch.Generator().manual_seed(1))
    x = (x + (MARGIN - x @ w) * w).view(SHAPE)
    voter = Voter(half_space(w, differentiable), noise, 3, seed, 512)
    return x, CertificateAttack(voter, Claim(4, x, label, radius), effort, LEVEL)()


CASES = [
    pytest.param(Gaussian(0.5), SLANTED, id="gaussian"),
    pytest.param(Laplace(0.4), AXIS, id="laplace"),
    pytest.param(Uniform(1.0), AXIS, id="uniform"),
]


@pytest.mark.parametrize(("noise", "w"), CASES)
def test_the_nearest_point_of_the_other_class_is_found_and_nothing_nearer_is_claimed(noise, w):
    _, row = attack(noise, w, 0.999 * MARGIN, effort=MANY)
    assert MARGIN < row["found"] < 1.1 * MARGIN
    assert not row["violation"] and "x" not in row
    assert row["inside"]["distance"] < 0.999 * MARGIN and row["inside"]["distance"] > 0.99 * MARGIN
    assert row["inside"]["for_class"] + row["inside"]["for_rival"] <= 100_000


@pytest.mark.parametrize(("noise", "w"), CASES)
def test_a_radius_twice_as_large_is_broken_and_the_point_that_breaks_it_is_given(noise, w):
    x, row = attack(noise, w, 2 * MARGIN)
    assert row["violation"] and row["found"] < 2 * MARGIN
    delta = row["x"].astype(np.float64) - x.numpy().astype(np.float64)
    assert np.linalg.norm(delta.ravel(), noise.norm) < 2 * MARGIN
    assert float(w @ torch.from_numpy(row["x"]).flatten()) < 0  # it really lies beyond


def test_hard_votes_alone_will_do():
    _, row = attack(Gaussian(0.5), SLANTED, 0.9 * MARGIN, differentiable=False)
    assert MARGIN < row["found"] < 1.25 * MARGIN and not row["violation"]


def test_a_radius_of_zero_claims_the_class_of_x_itself():
    assert not attack(Gaussian(0.5), SLANTED, 0.0)[1]["violation"]
    _, row = attack(Gaussian(0.5), SLANTED, 0.0, label=0)
    assert row["violation"] and row["found"] == 0


def test_an_attack_with_images_stays_among_them():
    voter = Voter(half_space(AXIS), Gaussian(0.5), 3, 0, 512)
    with pytest.raises(InputError, match="does not declare"):
        CertificateAttack(voter, Claim(0, torch.rand(SHAPE), 1, 1.0), Effort(box=True), LEVEL)
    space = Space(torch.rand(SHAPE), 2, (0.0, 1.0))
    points = space.at(torch.randn(5, *SHAPE), torch.full((5,), 3.0))
    assert points.min() >= 0 and points.max() <= 1 and (space.distance(points) < 3).all()


def test_points_inside_are_inside_as_float32_has_them():
    for norm in (1, 2):
        for radius in (0.003, 0.1, 1.0, 30.0):
            space = Space(torch.rand(3, 40, 40), norm)
            distance = space.distance(space.inside(torch.randn(20, 3, 40, 40), radius))
            assert (distance < radius).all() and (distance > 0.85 * radius).all()


def test_search_and_judgement_never_share_noise_with_each_other_or_with_a_certificate(monkeypatch):
    used, real = [], votes.generator_for

    def noted(device, *key):
        used.append(key)
        return real(device, *key)

    monkeypatch.setattr(votes, "generator_for", noted)
    monkeypatch.setattr(oracle, "generator_for", noted)
    attack(Gaussian(0.5), SLANTED, MARGIN, seed=9)
    assert {key[:2] for key in used} == {(9, 4)} and all(key[2].startswith("audit-") for key in used)
    judges = {key[2] for key in used if key[2].startswith("audit-judge")}
    blocks = [key for key in used if key[2] in judges]
    assert len(judges) >= 2 and len(blocks) == len(set(blocks))  # every judging block is drawn once
    assert {key[2] for key in used} - judges >= {"audit-line", "audit-inside", "audit-rival-0", "audit-soft-norm"}


def test_efforts_that_prove_nothing_are_refused():
    for wrong in ({"votes": 100}, {"steps": 0}, {"restarts": 0}, {"views": 0}):
        with pytest.raises(InputError):
            Effort(**wrong)
