"""DDN: the smallest change of the vote, known in closed form for a linear model."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from smoothcert.attacks import DDN
from smoothcert.errors import InputError

D = 40
W = torch.randn(D, generator=torch.Generator().manual_seed(0))
W = W / W.norm()
Y = torch.zeros(3, dtype=torch.long)
MARGINS = torch.tensor([0.1, 0.2, 0.35])
X = 0.5 + MARGINS[:, None] * W  # at these distances from the boundary wᵀ(x − ½) = 0


def boundary(*offsets: float):  # type: ignore[no-untyped-def]
    """Views that vote 0 where wᵀ(x − ½) + offset > 0, and 1 elsewhere."""

    def g(x: Tensor) -> Tensor:
        side = 10 * ((x - 0.5) @ W)
        return torch.stack([torch.stack([side + 10 * o, 0 * side], dim=1) for o in offsets])

    return g


def sizes(x_adv: Tensor) -> Tensor:
    return (x_adv - X).norm(dim=1)


def test_it_finds_the_distance_to_the_boundary() -> None:
    found = sizes(DDN(1.0, 100, quantize=False)(boundary(0.0), X, Y))
    assert (found > MARGINS).all() and (found < 1.06 * MARGINS).all()  # the last (1 − γ) that succeeded


def test_on_the_grid_of_pixels_it_is_little_more() -> None:
    x_adv = DDN(1.0, 100)(boundary(0.0), X, Y)
    assert (sizes(x_adv) > MARGINS).all() and (sizes(x_adv) < 1.2 * MARGINS + 0.01).all()
    on_grid = (x_adv * 255 - (x_adv * 255).round()).abs().max()
    assert on_grid < 1e-4


def test_success_is_the_vote_of_most_views() -> None:
    """Offsets 0, 0.1 and 0.2: most views change sides 0.1 behind the first; the mean probability is not asked."""
    found = sizes(DDN(1.0, 100, quantize=False)(boundary(0.0, 0.1, 0.2), X, Y))
    assert (found > MARGINS + 0.1).all() and (found < 1.06 * (MARGINS + 0.1)).all()


def test_what_is_found_is_projected_to_the_ball() -> None:
    found = sizes(DDN(0.25, 40)(boundary(0.0), X, Y))
    assert found[0] < 0.15  # found inside
    assert found[2] == pytest.approx(0.25, abs=1e-6)  # found outside, cut back


def test_images_whose_vote_was_wrong_or_never_changes_come_back_as_they_were() -> None:
    wrong = 1 - Y
    assert torch.equal(DDN(1.0, 20)(boundary(0.0), X, wrong), X)
    assert torch.equal(DDN(1.0, 20)(boundary(1e3), X, Y), X)


def test_the_norm_follows_successes_and_failures() -> None:
    """Seen from outside: ρ grows by γ until the vote changes and shrinks by γ after it; all from ρ_0 = ε."""
    asked: list[float] = []
    g = boundary(0.0)

    def watch(x: Tensor) -> Tensor:
        asked.append(float((x.detach() - X[2:]).norm()))
        return g(x)

    DDN(0.3, 8, quantize=False)(watch, X[2:], Y[2:])
    wanted, rho, success = [0.0], 0.3, False
    for _ in range(7):
        rho *= 0.95 if success else 1.05
        success = rho > 0.35
        wanted.append(rho)
    assert asked == pytest.approx(wanted, rel=1e-5)
    assert any(b < a for a, b in pairwise(asked)), "no success was seen"


def test_the_norm_stops_growing_where_no_image_is_farther() -> None:
    """From the middle of a square to its corner is √½: the first success brings δ back at once."""
    x = torch.full((1, 2), 0.5)
    asked: list[float] = []

    def g(z: Tensor) -> Tensor:
        asked.append(float((z.detach() - x).norm()))
        side = z.sum(1)
        return torch.stack([torch.stack([(5.0 if len(asked) < 30 else -5.0) - side, 0 * side], dim=1)])

    DDN(0.5, 32, quantize=False)(g, x, Y[:1])
    assert asked[20:30] == pytest.approx([math.sqrt(0.5)] * 10, rel=1e-6)
    assert asked[30:] == pytest.approx([0.95 * math.sqrt(0.5), 0.95**2 * math.sqrt(0.5)], rel=1e-5)


def test_the_direction_turns_by_steps_that_fall_as_a_cosine() -> None:
    """Two steps on a loss whose gradient turns 90°: the angle of δ shows α_t = .01 + .99 (1 + cos πt/T)/2, t ≥ 1."""
    count = 0

    def g(x: Tensor) -> Tensor:
        nonlocal count
        side = x[:, count]  # the gradient lies along axis `count`
        count += 1
        vote = 5.0 if count < 3 else -5.0
        return torch.stack([torch.stack([vote - side, 0 * side], dim=1)])

    x = torch.full((1, 3), 0.5)
    # The third pass succeeds, so δ after two steps comes back: ρ_1 e_0 + α_1 e_1, scaled to ρ_2.
    x_adv = DDN(0.1, 3, quantize=False)(g, x, Y[:1])
    way = (x_adv - x)[0]
    alpha = 0.01 + 0.99 * (1 + math.cos(2 * math.pi / 3)) / 2
    assert float(way[1] / way[0]) == pytest.approx(alpha / (0.1 * 1.05), rel=1e-4)


@pytest.mark.parametrize("gamma", [0.0, 1.0, -0.5, float("nan")])
def test_gamma_is_a_fraction(gamma: float) -> None:
    with pytest.raises(InputError, match="gamma must lie between 0 and 1"):
        DDN(1.0, 10, gamma)


def test_without_steps_it_cannot_look() -> None:
    with pytest.raises(InputError, match="steps must be at least 1, not 0"):
        DDN(1.0, 0)
