"""Settings of the paper's rows, stated once more as its text, its code and the released models have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from smoothcert.attacks import PGD
from smoothcert.noise import Gaussian
from smoothcert.objectives import MACER, Consistency, CrossEntropy, Objective, Stability
from smoothcert.recipes import (
    ALIASES,
    RECIPES,
    Recipe,
    certification_of,
    find_recipe,
    from_dict,
    printed_rows,
    reduced_recipe,
    to_dict,
)
from smoothcert.recipes.estimate import estimate

SALMAN = {"warmup": 10, "project_first": False, "damping": "none"}  # clamps first, always a full step
OWN = {"warmup": 10, "project_first": True, "damping": "batch"}  # 1e-8 beside the gradient of the mean
TEXT = {"warmup": 10, "project_first": True, "damping": "none"}


def smoothadv(sigma: float, m: int, attack: PGD, lbd: float | None = None) -> Objective:
    terms = (CrossEntropy(),) if lbd is None else (CrossEntropy(), Consistency(lbd, 0.5))
    return Objective(Gaussian(sigma), terms, m, attack)


def macer(sigma: float, lbd: float, start: int = 0) -> Objective:
    return Objective(Gaussian(sigma), (MACER(sigma, lbd, gamma=8.0, beta=16.0, start=start),), m=16)


OBJECTIVES = {
    # Table 1; ε = 255 / 256 in the code, 1.0 in the text.
    "cifar10/smoothadv/0.25": smoothadv(0.25, 4, PGD(255 / 256, 10, **SALMAN)),
    "cifar10/smoothadv/0.25/text": smoothadv(0.25, 4, PGD(1.0, 10, **TEXT)),
    "cifar10/smoothadv/0.50": smoothadv(0.5, 8, PGD(255 / 256, 10, **SALMAN)),
    "cifar10/smoothadv/1.00": smoothadv(1.0, 8, PGD(255 / 256, 10, **SALMAN)),
    "cifar10/smoothadv-best/0.50": smoothadv(0.5, 2, PGD(2.0, 10, **SALMAN)),
    "cifar10/smoothadv-best/1.00": smoothadv(1.0, 2, PGD(2.0, 10, **SALMAN)),
    "cifar10/smoothadv+consistency/0.25": smoothadv(0.25, 4, PGD(255 / 256, 10, **OWN), 2.0),
    "cifar10/smoothadv+consistency/0.50": smoothadv(0.5, 2, PGD(2.0, 10, **OWN), 1.0),
    "cifar10/smoothadv+consistency/1.00": smoothadv(1.0, 2, PGD(2.0, 10, **OWN), 1.0),
    "cifar10/smoothadv+consistency/1.00/text": smoothadv(1.0, 2, PGD(2.0, 10, **TEXT), 1.0),
    "cifar10/macer/0.25": macer(0.25, 12.0),
    "cifar10/macer/0.50": macer(0.5, 4.0),
    "cifar10/macer/1.00": macer(1.0, 12.0, start=50),
    "cifar10/macer/1.00/text": macer(1.0, 12.0),
    # Tables 2 and 4
    "imagenet/smoothadv/0.50": smoothadv(0.5, 1, PGD(255 / 256, 1, **SALMAN)),
    "imagenet/smoothadv/1.00": smoothadv(1.0, 1, PGD(2.0, 1, **SALMAN)),
    "cifar10-resnet20/macer/0.50": macer(0.5, 4.0),
    "cifar10-densenet40/macer/0.50/text": macer(0.5, 4.0),
    # Table 6
    "mnist/smoothadv/1.00": smoothadv(1.0, 4, PGD(255 / 256, 10, **SALMAN)),
    "mnist/smoothadv+consistency/0.25": smoothadv(0.25, 4, PGD(255 / 256, 10, **OWN), 1.0),
    "mnist/smoothadv+consistency/0.25/text": smoothadv(0.25, 4, PGD(1.0, 10, **TEXT), 1.0),
    "mnist/macer/0.25": macer(0.25, 16.0, start=31),
    "mnist/macer/0.25/text": macer(0.25, 16.0),
    "mnist/macer/1.00/text": macer(1.0, 6.0),
    # Table 8: printed with η = 0.5; the text's loss has a name of its own
    "ablation/loss/cross-entropy/5": Objective(Gaussian(1.0), (CrossEntropy(), Consistency(5.0, 0.5)), 2),
    "ablation/loss/cross-entropy/20": Objective(Gaussian(1.0), (CrossEntropy(), Consistency(20.0, 0.5)), 2),
    "ablation/loss/eta-lambda/5": Objective(Gaussian(1.0), (CrossEntropy(), Consistency(5.0, 5.0)), 2),
    "ablation/loss/eta-lambda/20": Objective(Gaussian(1.0), (CrossEntropy(), Consistency(20.0, 20.0)), 2),
    # Table 11
    "cifar10/stability/0.50": Objective(Gaussian(0.5), (Stability(2.0),)),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_row_has_this_objective(name: str) -> None:
    assert find_recipe(name).objective == OBJECTIVES[name]


@dataclass(frozen=True)
class Run:
    """What the rows of one trainer share; `rates` are epochs at lr, lr/10 and lr/100."""

    epochs: int
    lr: float
    batch: int
    rates: tuple[int, int, int]
    nesterov: bool
    weight_decay: float = 1e-4
    normalization: str = "standard"


RUNS: dict[str, tuple[Run, Callable[[str], bool]]] = {
    "released MACER": (
        Run(440, 0.01, 64, (199, 200, 41), False, 5e-4, "none"),
        lambda name: name.startswith("cifar10/macer/"),
    ),
    "CIFAR-10, code": (
        Run(150, 0.1, 256, (51, 50, 49), False),
        lambda name: name.startswith("cifar10") and not name.endswith("/text") and not exempt(name),
    ),
    "CIFAR-10, text": (
        Run(150, 0.1, 256, (50, 50, 50), True),
        lambda name: name.startswith("cifar10") and name.endswith("/text") and not exempt(name),
    ),
    "ImageNet, code": (
        Run(90, 0.1, 200, (31, 30, 29), False),
        lambda name: name.startswith("imagenet/") and not name.endswith("/text"),
    ),
    "MNIST, code": (
        Run(90, 0.01, 256, (31, 30, 29), False),
        lambda name: name.startswith(("mnist/", "ablation/")) and not name.endswith("/text") and not exempt(name),
    ),
    "MNIST, text": (
        Run(90, 0.01, 256, (30, 30, 30), True),
        lambda name: name.startswith(("mnist/", "ablation/")) and name.endswith("/text"),
    ),
}


def exempt(name: str) -> bool:
    """Recipes of our own, the longer training of CAT-RS on MNIST, and the released MACER with its own trainer."""
    ours = ("-fast/", "-onward/", "-short/", "-tenth/", "/best/", "mnist/cat-rs/", "-long/")
    return any(part in name for part in ours) or name.endswith("/plain") or name.startswith("cifar10/macer/")


def run_of(recipe: Recipe) -> Run:
    factors = [round(recipe.schedule.factor(e, recipe.epochs), 9) for e in range(recipe.epochs)]
    a, b, c = (factors.count(f) for f in (1.0, 0.1, 0.01))
    assert factors == sorted(factors, reverse=True) and a + b + c == recipe.epochs
    r = recipe
    return Run(r.epochs, r.lr, r.batch, (a, b, c), r.nesterov, r.weight_decay, r.normalization)


@pytest.mark.parametrize("kind", RUNS)
def test_all_rows_of_a_trainer_are_trained_alike(kind: str) -> None:
    wanted, belongs = RUNS[kind]
    names = [name for name in RECIPES if belongs(name)]
    assert names and {name: run_of(find_recipe(name)) for name in names} == dict.fromkeys(names, wanted)


def test_macers_batches_are_not_cut_and_its_cost_follows_the_schedule() -> None:
    recipe = find_recipe("cifar10/macer/0.50")
    assert (recipe.images_per_step, recipe.split_batch) == (64, False)
    assert estimate(recipe, certification_of("cifar10")).passes == 440 * 50_000 * 16


def test_macers_schedule_shrinks_as_a_whole() -> None:
    small = reduced_recipe(find_recipe("cifar10/macer/1.00"), 0.1)
    assert run_of(small).rates == (20, 20, 4) and small.objective.terms[0].start == 5  # type: ignore[attr-defined]
    assert small.normalization == "none" and small.epochs == 44
    assert reduced_recipe(find_recipe("cifar10/macer/1.00"), 0.001).epochs == 1
    assert run_of(reduced_recipe(find_recipe("cifar10/macer/0.25"), 0.6)).rates == (119, 120, 25)


def test_the_printed_cross_entropy_rows_are_runs_of_consistency() -> None:
    assert ALIASES["ablation/loss/cross-entropy/5"] == "mnist/consistency/1.00"
    assert ALIASES["ablation/loss/cross-entropy/20"] == "ablation/lambda/20"
    assert not any(printed_rows(f"ablation/loss/eta-lambda/{lbd}") for lbd in (5, 20))


def test_older_recipe_files_have_the_standard_normalization() -> None:
    recipe = find_recipe("cifar10/gaussian/0.50")
    assert "normalization" not in to_dict(recipe) and from_dict(to_dict(recipe)).normalization == "standard"
    assert to_dict(find_recipe("cifar10/macer/0.50"))["normalization"] == "none"
