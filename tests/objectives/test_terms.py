"""Every term against a plain second implementation, written image by image from the equations of the papers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from smoothcert.errors import InputError
from smoothcert.objectives import (
    MACER,
    TERMS,
    CatRS,
    Consistency,
    CrossEntropy,
    MeanSquared,
    SmoothMix,
    Stability,
    Term,
)
from smoothcert.objectives.term import term_name

B, K = 6, 5
EXAMPLES: dict[str, Term] = {
    "cross_entropy": CrossEntropy(),
    "consistency": Consistency(lbd=3.0, eta=0.7),
    "mean_squared": MeanSquared(lbd=3.0),
    "stability": Stability(lbd=2.0),
    "macer": MACER(sigma=0.5, lbd=3.0, gamma=8.0, beta=1.5),
    "smooth_mix": SmoothMix(eta=3.0, step=1.0, steps=4),
    "cat_rs": CatRS(lbd=3.0),
}
CASES = [(name, m) for name, term in EXAMPLES.items() for m in (1, 2, 4) if m >= term.least_m]
every_case = pytest.mark.parametrize(("name", "m"), CASES, ids=[f"{name}-{m}" for name, m in CASES])


def softmax(z: Tensor) -> Tensor:
    return z.exp() / z.exp().sum()


def entropy(p: Tensor) -> Tensor:
    return sum((-p[k] * p[k].log() for k in range(len(p))), torch.tensor(0.0))


def cross_entropy(p: Tensor, q: Tensor) -> Tensor:
    return sum((-p[k] * q[k].log() for k in range(len(p))), torch.tensor(0.0))


def kl(p: Tensor, q: Tensor) -> Tensor:
    return sum((p[k] * (p[k] / q[k]).log() for k in range(len(p))), torch.tensor(0.0))


def mean(values: list[Tensor]) -> Tensor:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total / len(values)


def plain_macer(z: Tensor, y: int, term: MACER) -> Tensor:
    charge = -mean([softmax(z_i)[y] for z_i in z]).log()
    tempered = mean([softmax(term.beta * z_i) for z_i in z])
    first, second = tempered.argsort(descending=True)[:2].tolist()
    if first != y:
        return charge
    quantile = torch.special.ndtri
    difference = quantile(tempered[first]) - quantile(tempered[second])
    if not bool(difference.isfinite()) or bool(difference.abs() > term.gamma):
        return charge
    return charge + term.lbd * term.sigma / 2 * (term.gamma - difference)


def plain_smoothmix(z: Tensor, there: Tensor, y: int, share: Tensor, term: SmoothMix) -> Tensor:
    p_bar = mean([softmax(z_i) for z_i in z])
    if int(p_bar.argmax()) != y:
        return 0 * z.sum()
    target = (1 - share) * p_bar + share / z.shape[1]
    return term.eta * mean([kl(target, softmax(there_i)) for there_i in there])


def plain_cat_rs(z: Tensor, there: Tensor, y: int, votes: Tensor, uniform: Tensor, term: CatRS) -> Tensor:
    m = len(z)
    q = sum(int(z_i.argmax()) == y for z_i in z) / m
    k = max(1, sum(float(u) < q for u in uniform))
    charge = sum(sorted((-softmax(z_i)[y].log() for z_i in z), key=torch.Tensor.item)[:k], torch.tensor(0.0)) / m
    return (
        charge + term.lbd * max((kl(votes, softmax(there_i)) for there_i in there), key=torch.Tensor.item)
        if k == m
        else charge
    )


def plain(term: Term, z: Tensor, y: int, aside: tuple[Tensor, ...] = ()) -> Tensor:
    """The charge for one image from its logits z: (m, K), or (1 + m, K) with the clean ones first, or (m + m, K) with
    those from elsewhere last."""
    if isinstance(term, SmoothMix):
        return plain_smoothmix(*z.chunk(2), y, *aside, term)
    if isinstance(term, CatRS):
        return plain_cat_rs(*z.chunk(2), y, *aside, term)
    if isinstance(term, CrossEntropy):
        return mean([-softmax(z_i)[y].log() for z_i in z])
    if isinstance(term, Consistency):
        p_bar = mean([softmax(z_i) for z_i in z])
        return term.lbd * mean([kl(p_bar, softmax(z_i)) for z_i in z]) + term.eta * entropy(p_bar)
    if isinstance(term, MeanSquared):
        return term.lbd * sum((softmax(z[0])[k] - softmax(z[1])[k]) ** 2 for k in range(z.shape[1]))
    if isinstance(term, Stability):
        clean = softmax(z[0])
        return -clean[y].log() + term.lbd * mean([cross_entropy(clean, softmax(z_i)) for z_i in z[1:]])
    if isinstance(term, MACER):
        return plain_macer(z, y, term)
    raise NotImplementedError(f"write down the equation of {term} here")


def aside(term: Term, m: int, images: slice = slice(None), dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    """What terms that look elsewhere keep for each image."""
    generator = torch.Generator().manual_seed(8)
    uniform = torch.rand(m, B, generator=generator, dtype=torch.float64).to(dtype)
    votes = torch.rand(B, K, generator=generator, dtype=torch.float64).to(dtype)
    votes = votes / votes.sum(-1, keepdim=True)
    if isinstance(term, SmoothMix):
        return (uniform[0, images] / 2,)
    return (votes[images], uniform[:, images]) if isinstance(term, CatRS) else ()


def charges(term: Term, z: Tensor, y: Tensor, images: slice = slice(None)) -> Tensor:
    if not hasattr(term, "elsewhere"):
        return term(z, y)
    here, there = z.chunk(2)
    return term(here, y, there, *aside(term, len(here), images, z.dtype))


def some_logits(term: Term, m: int, scale: float = 1.5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(7)
    views = 2 * m if hasattr(term, "elsewhere") else m + term.wants_clean
    shared = torch.randn(1, B, K, generator=generator, dtype=torch.float64)
    own = torch.randn(views, B, K, generator=generator, dtype=torch.float64)
    logits = scale * (shared + 0.3 * own)
    y = logits.mean(0).argmax(-1)
    y[0] = (y[0] + 1) % K  # one image that is classified wrongly
    return logits, y


def value_and_gradient(charge: Callable[[Tensor], Tensor], logits: Tensor) -> tuple[Tensor, Tensor]:
    """Charges (B,), and the gradient of their sum with weights 1, 2, …: it tells the images apart."""
    logits = logits.detach().requires_grad_()
    values = charge(logits)
    (gradient,) = torch.autograd.grad((values * torch.arange(1, B + 1)).sum(), logits)
    return values.detach(), gradient


def test_there_is_an_example_of_every_term_and_it_is_named_as_in_the_list() -> None:
    assert {name: type(term) for name, term in EXAMPLES.items()} == TERMS
    assert all(term_name(term) == name for name, term in EXAMPLES.items())


@every_case
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-6)])
def test_value_and_gradient_are_those_of_the_equation(name: str, m: int, dtype: torch.dtype, tolerance: float) -> None:
    term = EXAMPLES[name]
    logits, y = some_logits(term, m)
    ours, slope = value_and_gradient(lambda z: charges(term, z, y), logits.to(dtype))
    each = [tuple(part.reshape(-1) for part in aside(term, m, slice(b, b + 1))) for b in range(B)]
    wanted, wanted_slope = value_and_gradient(
        lambda z: torch.stack([plain(term, z[:, b], int(y[b]), each[b]) for b in range(B)]), logits.to(dtype).double()
    )
    assert ours.dtype == dtype and ours.shape == (B,)
    assert_within(ours, wanted, tolerance)
    assert_within(slope, wanted_slope, tolerance)


def assert_within(got: Tensor, wanted: Tensor, tolerance: float) -> None:
    """The largest error, in units of the largest value where that exceeds 1."""
    assert (got.double() - wanted).abs().max() <= tolerance * max(1.0, float(wanted.abs().max()))


@every_case
def test_the_gradient_is_that_of_finite_differences(name: str, m: int) -> None:
    logits, y = some_logits(EXAMPLES[name], m)
    assert torch.autograd.gradcheck(lambda z: charges(EXAMPLES[name], z, y), logits.requires_grad_())


@every_case
@pytest.mark.parametrize("size", [1e2, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_far_apart_give_finite_values_and_gradients(name: str, m: int, size: float, dtype: torch.dtype) -> None:
    term = EXAMPLES[name]
    signs = some_logits(term, m)[0].sign().to(dtype)
    for labels in (torch.zeros(B, dtype=torch.long), signs[0].argmax(-1), signs.mean(0).argmin(-1)):
        values, slope = value_and_gradient(lambda z, labels=labels: charges(term, z, labels), size * signs)
        assert values.isfinite().all() and slope.isfinite().all()


@every_case
def test_each_image_is_charged_for_itself_alone(name: str, m: int) -> None:
    term = EXAMPLES[name]
    logits, y = some_logits(term, m)
    alone = charges(term, logits[:, 2:4], y[2:4], slice(2, 4))
    torch.testing.assert_close(alone, charges(term, logits, y)[2:4], rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_constant_added_to_all_logits_of_a_view_changes_nothing(name: str) -> None:
    logits, y = some_logits(EXAMPLES[name], 2)
    shifted = logits + torch.arange(logits.shape[0])[:, None, None]
    term = EXAMPLES[name]
    torch.testing.assert_close(charges(term, shifted, y), charges(term, logits, y), rtol=1e-9, atol=1e-12)


def test_consistency_with_equal_weights_is_the_cross_entropy_to_the_mean() -> None:
    logits, y = some_logits(CrossEntropy(), 4)
    p = logits.softmax(-1)
    wanted = 2.5 * -(p.mean(0) * logits.log_softmax(-1)).sum(-1).mean(0)
    torch.testing.assert_close(Consistency(2.5, 2.5)(logits, y), wanted, rtol=1e-12, atol=0)


def test_consistency_without_entropy_is_the_divergence_alone() -> None:
    logits, y = some_logits(CrossEntropy(), 4)
    p = logits.softmax(-1)
    wanted = 2.5 * (p.mean(0) * (p.mean(0).log() - p.log())).sum(-1).mean(0)
    torch.testing.assert_close(Consistency(2.5, 0.0)(logits, y), wanted, rtol=1e-12, atol=0)
    same = logits[:1].expand(4, -1, -1)
    assert Consistency(2.5, 0.0)(same, y).abs().max() < 1e-14


def test_with_no_weight_nothing_is_left_but_the_label() -> None:
    logits, y = some_logits(CrossEntropy(), 4)
    zero = torch.zeros(B, dtype=torch.float64)
    label = CrossEntropy()
    torch.testing.assert_close(Consistency(0.0, 0.0)(logits, y), zero)
    torch.testing.assert_close(MeanSquared(0.0)(logits, y), zero)
    torch.testing.assert_close(Stability(0.0)(logits, y), label(logits[:1], y))
    torch.testing.assert_close(MACER(0.5, 0.0)(logits[:1], y), label(logits[:1], y))


@pytest.mark.parametrize("make", [Consistency, MeanSquared, Stability, lambda lbd: MACER(0.5, lbd)])
@pytest.mark.parametrize("lbd", [-1.0, float("nan"), float("inf")])
def test_a_weight_must_be_a_number_not_below_zero(make: Callable[[float], Term], lbd: float) -> None:
    with pytest.raises(InputError, match="lbd must be a number >= 0"):
        make(lbd)
