"""Objective: the same draws for attack and terms, few forward passes, and a network left as it was found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import pytest
import torch
from torch import Tensor, nn

from smoothcert.attacks import ATTACKS, DDN, PGD, NoisePGD
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, Laplace, Noise, Uniform
from smoothcert.objectives import (
    MACER,
    Attack,
    CatRS,
    Consistency,
    CrossEntropy,
    Elsewhere,
    Look,
    MeanSquared,
    Objective,
    SmoothMix,
    Stability,
    Term,
)

TERMS: tuple[Term, ...] = (
    CrossEntropy(),
    Consistency(2.0),
    MeanSquared(2.0),
    Stability(2.0),
    MACER(0.5, 2.0),
    SmoothMix(2.0, 0.5, 2, warmup=1),
    CatRS(2.0, steps=2),
)
PAIRS = [pair for n in (1, 2, 3) for pair in combinations(TERMS, n)]
ATTACK_EXAMPLES: tuple[Attack, ...] = (PGD(0.5, 2), DDN(0.5, 2), NoisePGD(0.5, 2), NoisePGD(0.5, 2, "moments"))
X = torch.rand(3, 2, 4, 4, generator=torch.Generator().manual_seed(0))
Y = torch.tensor([0, 1, 2])
VOTES = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.0, 1.0]])


def small_network() -> nn.Sequential:
    """With all that has a mode: the second norm is kept in eval mode, as one does who fine-tunes."""
    torch.manual_seed(0)
    f = nn.Sequential(
        nn.Conv2d(2, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.BatchNorm2d(4),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(16, 3),
    )
    f[3].eval()
    f[0].bias.requires_grad_(False)
    return f


def draw(seed: int = 5) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def bare(f: nn.Module) -> Callable[[Tensor], Tensor]:
    return lambda x: f(x)


@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.5), Uniform(0.5)], ids=repr)
def test_the_charges_are_those_of_views_passed_one_by_one(noise: Noise) -> None:
    f = small_network().eval()
    objective = Objective(noise, (CrossEntropy(), Consistency(2.0)), m=4)
    charges = objective(f, X, Y, draw())
    delta = noise.fill(torch.empty(4, *X.shape), draw())
    logits = torch.stack([f(X + delta_i) for delta_i in delta])
    torch.testing.assert_close(charges.logits, logits)
    torch.testing.assert_close(charges.terms["cross_entropy"], CrossEntropy()(logits, Y).mean())
    torch.testing.assert_close(charges.terms["consistency"], Consistency(2.0)(logits, Y).mean())
    torch.testing.assert_close(charges.loss, charges.terms["cross_entropy"] + charges.terms["consistency"])


def test_a_term_that_wants_the_clean_view_gets_it_and_the_others_do_not_see_it() -> None:
    f = small_network().eval()
    objective = Objective(Gaussian(0.5), (Stability(2.0), Consistency(2.0)), m=2)
    charges = objective(f, X, Y, draw())
    delta = Gaussian(0.5).fill(torch.empty(2, *X.shape), draw())
    noisy = torch.stack([f(X + delta_i) for delta_i in delta])
    torch.testing.assert_close(charges.logits, noisy)
    torch.testing.assert_close(charges.terms["consistency"], Consistency(2.0)(noisy, Y).mean())
    with_clean = torch.cat([f(X)[None], noisy])
    torch.testing.assert_close(charges.terms["stability"], Stability(2.0)(with_clean, Y).mean())


@pytest.mark.parametrize("attack", [None, *ATTACK_EXAMPLES], ids=repr)
@pytest.mark.parametrize("terms", PAIRS, ids=lambda ts: "+".join(type(t).__name__ for t in ts))
def test_any_terms_compose_with_any_attack(terms: tuple[Term, ...], attack: Attack | None) -> None:
    f = small_network()
    objective = Objective(Gaussian(0.5), terms, 2, attack)
    charges = objective.at(0)(f, X, Y, draw(), VOTES)
    charges.loss.backward()
    assert len(charges.terms) == len(terms) and charges.logits.shape == (2, 3, 3)
    for p in f.parameters():
        assert p.grad is None or p.grad.isfinite().all()
    nothing = {type(term) for term in terms} == {SmoothMix}  # no image is right yet
    assert (f[6].weight.grad.abs().sum() > 0) != nothing


@pytest.mark.parametrize("attack", [None, *ATTACK_EXAMPLES], ids=repr)
def test_the_network_is_passed_once_for_all_terms_and_once_before_for_the_clean_image(attack: Attack | None) -> None:
    f, sizes = small_network(), []
    f.register_forward_pre_hook(lambda module, inputs: sizes.append((module.training, len(inputs[0]))))
    Objective(Gaussian(0.5), (Stability(1.0), Consistency(1.0)), 4, attack)(f, X, Y, draw())
    assert sizes == [(False, 12)] * (0 if attack is None else 2) + [(True, 3), (True, 12)]


@pytest.mark.parametrize("attack", [None, *ATTACK_EXAMPLES], ids=repr)
def test_the_generator_decides_everything(attack: Attack | None) -> None:
    f = small_network().eval()
    objective = Objective(Gaussian(0.5), (Stability(1.0), Consistency(2.0)), 2, attack)
    before = torch.get_rng_state()
    first, again, other = (objective(f, X, Y, draw(seed)).loss for seed in (5, 5, 6))
    assert first == again != other
    assert torch.equal(before, torch.get_rng_state())


def test_without_steps_smoothadv_is_gaussian() -> None:
    f = small_network().eval()
    gaussian, smoothadv = (
        Objective(Gaussian(0.5), (CrossEntropy(),), 4, a)(f, X, Y, draw()) for a in (None, PGD(1.0, 0))
    )
    assert torch.equal(gaussian.logits, smoothadv.logits) and gaussian.loss == smoothadv.loss


def test_attack_and_loss_share_their_draws_and_the_clean_view_is_attacked_too() -> None:
    f, seen = small_network().eval(), []

    def attack(g: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, batch: int | None = None) -> Tensor:
        seen.append(g(x + 0.25))
        return x + 0.25

    attack.knobs = ()  # type: ignore[attr-defined]
    objective = Objective(Gaussian(0.5), (CrossEntropy(), Stability(1.0)), 2, attack)  # type: ignore[arg-type]
    charges = objective(f, X, Y, draw())
    torch.testing.assert_close(seen[0], charges.logits)
    assert torch.equal(objective.views(f, X, Y, draw()).clean, X + 0.25)


@pytest.mark.parametrize("views", [1, 2, 3])
def test_an_attack_that_asks_for_fewer_views_climbs_under_the_first_of_the_draws(views: int) -> None:
    f, x = small_network().eval().double(), X.double()
    delta = Objective(Gaussian(0.5), (CrossEntropy(),), 3).views(f, x, Y, draw()).noisy - x
    objective = Objective(Gaussian(0.5), (CrossEntropy(),), 3, PGD(0.5, 2, views=views))
    moved = objective.views(f, x, Y, draw()).noisy - delta
    expected = PGD(0.5, 2)(lambda x_adv: torch.stack([f(x_adv + d) for d in delta[:views]]), x, Y)
    torch.testing.assert_close(moved, expected.expand_as(moved), rtol=1e-9, atol=1e-9)
    assert (expected - x).flatten(1).norm(dim=1).min() > 0.1


@pytest.mark.parametrize("damping", ["none", "image", "batch"])
def test_shares_of_a_step_are_attacked_as_the_whole_is(damping: str) -> None:
    """A network so confident that the damping by the batch is felt: two processes must take it from the whole step."""

    def f(x: Tensor) -> Tensor:
        side = x.flatten(1) @ torch.linspace(-1.0, 1.0, x[0].numel(), dtype=x.dtype)
        return torch.stack([0 * side, side - 17.0], dim=1)  # gradients of some 1e-7

    x, y = torch.rand(6, 1, 2, 2, generator=draw(), dtype=torch.float64), torch.zeros(6, dtype=torch.long)
    objective = Objective(Gaussian(0.1), (CrossEntropy(),), 2, PGD(1.0, 3, damping=damping))
    whole = objective.views(f, x, y, draw()).noisy
    shares = [objective.views(f, x[a:b], y[a:b], draw(), within=(a, 6)).noisy for a, b in ((0, 2), (2, 6))]
    torch.testing.assert_close(torch.cat(shares, dim=1), whole, rtol=1e-12, atol=1e-12)
    alone = objective.views(f, x[:2], y[:2], draw()).noisy
    assert damping != "batch" or (alone[:, :2] - whole[:, :2]).abs().max() > 1e-3


@pytest.mark.parametrize("attack", ATTACK_EXAMPLES, ids=repr)
@pytest.mark.parametrize("fails_at", [None, 0, 1])
def test_an_attack_leaves_the_network_as_it_found_it(attack: Attack, fails_at: int | None) -> None:
    f, calls = small_network(), []
    for p in f.parameters():
        p.grad = torch.ones_like(p)
    modes = [module.training for module in f.modules()]
    asking = [p.requires_grad for p in f.parameters()]
    buffers = {name: b.clone() for name, b in f.named_buffers()}

    def watch(module: nn.Module, inputs: tuple[Tensor]) -> None:
        assert not any(part.training for part in module.modules())
        assert not any(p.requires_grad for p in module.parameters())
        calls.append(len(inputs[0]))
        if len(calls) - 1 == fails_at:
            raise OSError("the disk is full")

    f.register_forward_pre_hook(watch)
    objective = Objective(Gaussian(0.5), (CrossEntropy(),), 2, attack)
    if fails_at is None:
        objective.views(f, X, Y, draw())
        assert calls == [6, 6]
    else:
        with pytest.raises(OSError, match="the disk is full"):
            objective.views(f, X, Y, draw())
    assert [module.training for module in f.modules()] == modes and True in modes and False in modes
    assert [p.requires_grad for p in f.parameters()] == asking and True in asking and False in asking
    assert all(p.grad is not None and torch.equal(p.grad, torch.ones_like(p)) for p in f.parameters())
    assert all(torch.equal(b, buffers[name]) for name, b in f.named_buffers())


@pytest.mark.parametrize("attack", ATTACK_EXAMPLES, ids=repr)
def test_weights_behind_a_plain_function_get_no_gradient_either(attack: Attack) -> None:
    f = small_network().eval()
    views = Objective(Gaussian(0.5), (CrossEntropy(),), 2, attack).views(bare(f), X, Y, draw()).noisy
    assert all(p.grad is None for p in f.parameters()) and not views.requires_grad


@pytest.mark.parametrize("attack", ATTACK_EXAMPLES, ids=repr)
def test_an_attack_works_where_gradients_are_off(attack: Attack) -> None:
    f = small_network().eval()
    objective = Objective(Gaussian(0.5), (CrossEntropy(),), 2, attack)
    with torch.no_grad():
        off = objective(f, X, Y, draw())
    assert not off.loss.requires_grad
    torch.testing.assert_close(off.loss, objective(f, X, Y, draw()).loss.detach())


@pytest.mark.parametrize("attack", [None, *ATTACK_EXAMPLES], ids=repr)
def test_the_memory_format_is_the_networks_and_the_draws_do_not_depend_on_it(attack: Attack | None) -> None:
    f, formats = small_network().eval(), []
    objective = Objective(Gaussian(0.5), (CrossEntropy(), Stability(1.0)), 2, attack)
    plain = objective(f, X, Y, draw())
    f.memory_format = torch.channels_last
    f.register_forward_pre_hook(
        lambda module, inputs: formats.append(inputs[0].is_contiguous(memory_format=torch.channels_last))
    )
    for x in (X, X.contiguous(memory_format=torch.channels_last)):
        torch.testing.assert_close(objective(f, x, Y, draw()).loss, plain.loss)
    assert len(formats) > 1 and all(formats)


@dataclass(frozen=True)
class Shifted:
    """u CE at one more view, x̂ + shift + u, u ~ U(0, 1) per image: the simplest term that looks elsewhere."""

    shift: float

    def elsewhere(self, look: Look) -> Elsewhere:
        u = look.uniform(1)
        return Elsewhere((look.x_hat + self.shift + u.view(-1, 1, 1, 1)).unsqueeze(0), (u[0],))

    def __call__(self, logits: Tensor, y: Tensor, there: Tensor, u: Tensor) -> Tensor:
        return u * CrossEntropy()(there, y)


def test_a_term_that_looks_elsewhere_has_a_pass_of_its_own_after_the_noisy_one() -> None:
    f, sizes = small_network(), []
    f.register_forward_pre_hook(lambda module, inputs: sizes.append((module.training, len(inputs[0]))))
    attack = PGD(0.5, 2)
    objective = Objective(Gaussian(0.5), (Shifted(0.1), Stability(1.0), SmoothMix(1.0, 1.0, 3)), 4, attack)
    objective(f, X, Y, draw())
    assert sizes == [(False, 12)] * (2 + 3) + [(True, 3), (True, 12), (True, 3), (True, 12)]


def test_what_a_term_keeps_aside_comes_back_to_it_and_its_draws_follow_the_noise() -> None:
    f = small_network().eval()
    objective = Objective(Gaussian(0.5), (CrossEntropy(), Shifted(0.25)), m=2)
    charges, generator = objective(f, X, Y, draw()), draw()
    torch.testing.assert_close(charges.logits, Objective(Gaussian(0.5), (CrossEntropy(),), 2)(f, X, Y, draw()).logits)
    Gaussian(0.5).fill(torch.empty(2, *X.shape), generator)
    u = torch.rand(3, generator=generator)
    logits = torch.stack([f((X + 0.25)[b : b + 1] + u[b])[0] for b in range(3)])
    wanted = -(u * logits.log_softmax(-1)[range(3), Y]).mean()
    torch.testing.assert_close(charges.terms["shifted"], wanted)


def test_shares_of_a_step_look_where_the_whole_does() -> None:
    """Whoever computes which images: two processes must draw and attack as one."""
    f, x = small_network().eval().double(), torch.rand(6, 2, 4, 4, generator=draw(), dtype=torch.float64)
    y, votes = torch.arange(6) % 3, VOTES.double().repeat(2, 1)
    for attack in (None, *ATTACK_EXAMPLES):
        objective = Objective(Gaussian(0.5), (SmoothMix(1.0, 1.0, 3), CatRS(1.0)), 4, attack)
        whole = objective.views(f, x, y, draw(), votes=votes)
        for a, b in ((0, 2), (2, 6)):
            share = objective.views(f, x[a:b], y[a:b], draw(), within=(a, 6), votes=votes[a:b])
            torch.testing.assert_close(share.noisy, whole.noisy[:, a:b])
            for name, place in share.elsewhere.items():
                torch.testing.assert_close(place.views, whole.elsewhere[name].views[:, a:b])
            torch.testing.assert_close(
                share.elsewhere["smooth_mix"].aside[0], whole.elsewhere["smooth_mix"].aside[0][a:b]
            )
            torch.testing.assert_close(share.elsewhere["cat_rs"].aside[1], whole.elsewhere["cat_rs"].aside[1][:, a:b])


def test_a_term_that_wants_votes_says_so() -> None:
    f, objective = small_network(), Objective(Gaussian(0.5), (CatRS(1.0),), 2)
    assert objective.wants_votes and not Objective(Gaussian(0.5), (CrossEntropy(),)).wants_votes
    with pytest.raises(InputError, match="CatRS needs the votes of a first network on each image"):
        objective(f, X, Y, draw())
    with pytest.raises(InputError, match="votes are of 2 images, and the batch has 3"):
        objective(f, X, Y, draw(), VOTES[:2])


def test_an_attack_on_the_noise_leaves_the_image_and_the_terms_see_the_moved_draws() -> None:
    f, seen = small_network().eval(), []

    class Moves:
        moves_noise = True

        def __call__(self, g: Callable[[Tensor], Tensor], x: Tensor, target: Tensor, delta: Tensor) -> Tensor:
            seen.append(g(x + 2 * delta))
            return 2 * delta

    objective = Objective(Gaussian(0.5), (CrossEntropy(), Stability(1.0), Shifted(0.0)), 2, Moves())
    charges, views = objective(f, X, Y, draw()), objective.views(f, X, Y, draw())
    torch.testing.assert_close(seen[0], charges.logits)
    assert torch.equal(views.clean, X) and not views.noisy.requires_grad
    torch.testing.assert_close(views.noisy, X + 2 * Gaussian(0.5).fill(torch.empty(2, *X.shape), draw()))


def test_images_need_not_be_images() -> None:
    torch.manual_seed(0)
    f, x = nn.Linear(5, 3), torch.rand(3, 5)
    for attack in ATTACK_EXAMPLES:
        assert Objective(Gaussian(0.5), (CrossEntropy(),), 2, attack)(f, x, Y, draw()).loss.isfinite()


def test_at_hands_the_epoch_to_whoever_wants_it() -> None:
    objective = Objective(Gaussian(0.5), (MACER(0.5, 4.0, start=2), Consistency(1.0)), 2, PGD(1.0, 2, warmup=4))
    lengths = [objective.at(e).attack.epsilon for e in range(6)]  # type: ignore[union-attr]
    assert lengths == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert [objective.at(e).terms[0].lbd for e in range(4)] == [0.0, 0.0, 4.0, 4.0]  # type: ignore[attr-defined]
    assert objective.at(0).terms[1] == Consistency(1.0) and objective.at(9).at(0) == objective.at(9)


def test_hyperparameters_are_counted_as_in_table_3() -> None:
    def count(*terms: Term, m: int = 1, attack: Attack | None = None) -> int:
        return len(Objective(Gaussian(0.5), terms, m, attack).knobs)

    assert count(CrossEntropy()) == 0
    assert count(CrossEntropy(), Consistency(10.0), m=2) == 2
    assert count(CrossEntropy(), m=8, attack=PGD(1.0, 10, warmup=10)) == 4
    assert count(CrossEntropy(), m=4, attack=PGD(1.0, 10, warmup=10, views=1)) == 5
    assert count(MACER(0.5, 16.0), m=16) == 4
    both = Objective(Gaussian(0.5), (MACER(0.5, 16.0),), 2, PGD(1.0, 10))
    assert both.knobs == (
        "macer.lbd",
        "macer.gamma",
        "macer.beta",
        "m",
        "attack.epsilon",
        "attack.steps",
        "attack.warmup",
    )


def test_what_makes_no_sense_is_refused_in_one_line() -> None:
    for terms, m, message in [
        ((), 1, "at least one term"),
        ((CrossEntropy(),), 0, "m must be at least 1"),
        ((Consistency(1.0),), 1, "Consistency needs m >= 2 noisy views per image, not m=1"),
        ((CrossEntropy(), MeanSquared(1.0)), 1, "MeanSquared needs m >= 2"),
        ((Consistency(1.0), Consistency(2.0)), 2, "each kind of term once"),
    ]:
        with pytest.raises(InputError, match=message):
            Objective(Gaussian(0.5), terms, m)
    for views in (3, 0, True, 1.5):
        with pytest.raises(InputError, match="views must be a number from 1 to m=2, not"):
            Objective(Gaussian(0.5), (CrossEntropy(),), 2, PGD(0.5, 2, views=views))  # type: ignore[arg-type]


def test_choosing_an_objective_does_not_wait_for_torch() -> None:
    rooms = ("noise", "objectives", "attacks", "recipes")
    code = f"import sys; {'; '.join(f'import smoothcert.{room}' for room in rooms)}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(ATTACKS.values()) == {type(a) for a in ATTACK_EXAMPLES}
