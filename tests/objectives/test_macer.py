"""MACER's robust term: who is charged, who is left out, and that nobody's gradient is ever NaN."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.special import ndtri
from torch import Tensor

from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, GridGaussian, Laplace
from smoothcert.objectives import MACER, Objective

TERM = MACER(sigma=0.5, lbd=4.0, gamma=2.0, beta=1.0)
LABEL_ONLY = MACER(sigma=0.5, lbd=0.0)


def one_image(p: list[float], dtype: torch.dtype = torch.float64) -> Tensor:
    """Logits (1, 1, K) of one view of one image with these probabilities."""
    return torch.tensor(p, dtype=dtype).log().view(1, 1, -1)


def robust(term: MACER, logits: Tensor, y: int) -> tuple[float, Tensor]:
    """The second term's charge and gradient."""
    label = torch.tensor([y])
    logits = logits.requires_grad_()
    charge = (term(logits, label) - LABEL_ONLY(logits, label)).sum()
    return float(charge.detach()), torch.autograd.grad(charge, logits)[0]


def test_below_the_hinge_the_charge_is_what_the_margin_lacks() -> None:
    charge, slope = robust(TERM, one_image([0.7, 0.2, 0.1]), 0)
    assert charge == pytest.approx(4.0 * 0.5 / 2 * (2.0 - (ndtri(0.7) - ndtri(0.2))), rel=1e-12)
    assert slope[0, 0, 0] < 0 < slope[0, 0, 1]


@pytest.mark.parametrize(
    ("p", "y"), [([0.7, 0.2, 0.1], 1), ([0.95, 0.04, 0.01], 0)], ids=["another class is on top", "over gamma"]
)
def test_left_out_images_add_nothing(p: list[float], y: int) -> None:
    charge, slope = robust(TERM, one_image(p), y)
    assert charge == 0 and not slope.any()


@pytest.mark.parametrize(("share", "charged"), [(0.9995, True), (1.0005, False)])
def test_the_hinge_is_at_gamma_and_not_a_thousandth_elsewhere(share: float, charged: bool) -> None:
    p = [0.8, 0.15, 0.05]
    gamma = (ndtri(p[0]) - ndtri(p[1])) / share
    charge, slope = robust(MACER(sigma=0.5, lbd=4.0, gamma=gamma, beta=1.0), one_image(p), 0)
    assert charge == pytest.approx(gamma * (1 - share) if charged else 0.0, abs=1e-12) and slope.any() == charged


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("second", [1e-3, 1e-7, 1e-9, 1e-17, 1e-30, 0.0])
def test_saturated_probabilities_never_give_a_nan(second: float, dtype: torch.dtype) -> None:
    term = MACER(sigma=0.5, lbd=16.0, gamma=8.0, beta=1.0)
    charge, slope = robust(term, one_image([1 - second, max(second, 1e-300), 1e-300], dtype).clamp(min=-1e4), 0)
    assert math.isfinite(charge) and slope.isfinite().all()


@pytest.mark.parametrize("gap", [20.0, 1e2, 1e4, 1e30])
def test_probabilities_of_exactly_zero_and_one_are_left_out_of_a_batch_that_goes_on(gap: float) -> None:
    """Beside a healthy image: the mask must act before Φ⁻¹, or 0 · ∞ spoils the whole batch through shared weights."""
    weight = torch.ones((), requires_grad=True)
    logits = torch.tensor([[[gap, 0.0, 0.0], [1.0, 0.0, -1.0], [0.0, gap, 0.0]]] * 4) * weight
    term = MACER(sigma=0.5, lbd=16.0, gamma=8.0, beta=16.0)
    charges = term(logits, torch.tensor([0, 0, 1]))
    charges.sum().backward()
    assert charges.isfinite().all() and weight.grad is not None and weight.grad.isfinite()
    exact = (16.0 * logits).softmax(-1).mean(0)
    assert gap == 20.0 or (exact[0, 0] == 1 and exact[0, 1] == 0)
    assert charges[0] == LABEL_ONLY(logits, torch.tensor([0, 0, 1]))[0]


def test_a_not_a_number_from_the_network_is_not_hidden() -> None:
    logits = torch.full((2, 1, 3), float("nan"))
    assert TERM(logits, torch.tensor([0])).isnan().all()


def test_more_views_are_averaged_as_probabilities_after_tempering() -> None:
    views = torch.cat([one_image([0.8, 0.1, 0.1]), one_image([0.5, 0.4, 0.1])])
    squares = torch.tensor([[0.64, 0.01, 0.01], [0.25, 0.16, 0.01]], dtype=torch.float64)  # β = 2
    first, second, _ = (squares / squares.sum(1, keepdim=True)).mean(0).tolist()
    wanted = 1.0 * 0.25 / 2 * (8.0 - (ndtri(first) - ndtri(second)))
    charge, _ = robust(MACER(sigma=0.25, lbd=1.0, gamma=8.0, beta=2.0), views, 0)
    assert charge == pytest.approx(wanted, rel=1e-12)


def test_the_radius_is_charged_from_its_first_epoch_on() -> None:
    late = MACER(0.5, lbd=4.0, gamma=2.0, beta=1.0, start=31)
    assert late.at(30).lbd == 0 and late.at(31) == TERM == late.at(89)
    logits, y = one_image([0.7, 0.2, 0.1]), torch.tensor([0])
    torch.testing.assert_close(late.at(30)(logits, y), LABEL_ONLY(logits, y))
    assert late.at(31)(logits, y) > late.at(30)(logits, y)


def test_it_is_refused_under_another_noise_than_its_own() -> None:
    assert Objective(Gaussian(0.5), (TERM,)).m == 1
    assert Objective(GridGaussian(0.5), (TERM,)).m == 1
    for noise in (Gaussian(0.25), GridGaussian(0.25), Laplace(0.5)):
        with pytest.raises(InputError, match=r"MACER\(sigma=0.5\) needs the noise Gaussian\(0.5\)"):
            Objective(noise, (TERM,))
    with pytest.raises(InputError, match="start must be an epoch"):
        MACER(0.5, 1.0, start=-1)
