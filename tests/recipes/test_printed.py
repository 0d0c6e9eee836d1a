"""Every printed row has its recipe, with the printed settings, and every recipe of the paper its printed row."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from smoothcert import paper
from smoothcert.attacks import PGD
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.objectives import MACER, Consistency, CrossEntropy, MeanSquared, Stability
from smoothcert.paper import Row
from smoothcert.recipes import (
    ALIASES,
    RECIPES,
    Recipe,
    after2020,
    best_mnist,
    certification_of,
    demo,
    denoisers,
    fashion_mnist,
    fast_cifar10,
    fast_mnist,
    find_recipe,
    matching,
    photographs,
    printed_rows,
)
from smoothcert.recipes.estimate import estimate, passes_per_image

LINKS = [(name, row.name) for row in paper.rows() for name in row.recipes]
PARTS = (after2020, best_mnist, demo, denoisers, fashion_mnist, fast_cifar10, fast_mnist, photographs)
OUR_OWN = {name for part in PARTS for name in part.RECIPES}
NOT_PRINTED = {"ablation/loss/eta-lambda/5", "ablation/loss/eta-lambda/20"}
OF_THE_PAPER = [n for n in RECIPES if n not in OUR_OWN | NOT_PRINTED and not n.endswith("/text")]
# What a row's printed name, up to its bracket, and its table ask for.
KINDS = {
    "Gaussian": (CrossEntropy,),
    "Gaussian + Consistency": (CrossEntropy, Consistency),
    "SmoothAdv": (CrossEntropy,),
    "SmoothAdv + Hyperparameter search": (CrossEntropy,),
    "SmoothAdv + Best HP": (CrossEntropy,),
    "SmoothAdv + Consistency": (CrossEntropy, Consistency),
    "Stability": (Stability,),
    "MACER": (MACER,),
    "MSE": (CrossEntropy, MeanSquared),
    "KL-divergence": (CrossEntropy, Consistency),
    "Cross-entropy": (CrossEntropy, Consistency),
}
WHERE = {
    **dict.fromkeys((1, 11), (("cifar10", "cifar_resnet110"),)),
    2: (("imagenet", "imagenet_resnet50"),),
    4: (("cifar10", "cifar_resnet20"), ("cifar10", "cifar_densenet40")),
    **dict.fromkeys((6, 7, 8, 9, 10), (("mnist", "lenet"),)),
}


def method_of(row: Row) -> str:
    return re.sub(r" \(.*|, mean of five seeds", "", row.printed)


def printed_weights(row: Row) -> list[float]:
    found = re.search(r"lambda=([\d.,]+)", row.printed)
    return [float(lbd) for lbd in found[1].strip(",").split(",")] if found else []


def test_every_printed_row_has_one_recipe_and_a_row_of_several_settings_one_for_each() -> None:
    for row in paper.rows():
        assert len(row.recipes) == max(1, len(printed_weights(row))), row.title
    assert all(find_recipe(cost.recipe) for cost in paper.costs())


def test_every_recipe_of_the_paper_has_a_printed_row() -> None:
    assert {ALIASES.get(name, name) for name, _ in LINKS} == set(OF_THE_PAPER)
    assert all(printed_rows(name) for name in OF_THE_PAPER)
    assert set(ALIASES.values()) <= set(RECIPES) and not set(ALIASES) & set(RECIPES)


@pytest.mark.parametrize(("name", "row"), LINKS)
@pytest.mark.parametrize("suffix", ["", "/text"])
def test_a_recipe_has_the_settings_of_its_row(name: str, row: str, suffix: str) -> None:
    recipe, line = find_recipe(name + suffix), paper.find_row(row)
    objective = recipe.objective
    assert (recipe.data, recipe.model) == WHERE[line.table][line.table == 4 and line.number > 6]
    assert objective.noise == Gaussian(line.sigma) and name.split("/")[0] != "mnist5k"
    assert tuple(type(term) for term in objective.terms) == KINDS[method_of(line)]
    assert (objective.attack is not None) == line.printed.startswith("SmoothAdv")
    if weights := printed_weights(line):
        assert objective.terms[-1].lbd == weights[line.recipes.index(name)]  # type: ignore[attr-defined]
    if stated := re.search(r"m=(\d)", line.printed):
        assert objective.m == int(stated[1])
    elif Consistency in KINDS[method_of(line)] and objective.attack is None:
        assert objective.m == 2
    assert line in printed_rows(name)
    if not name.startswith("cifar10/macer/"):  # tests/recipes/test_method.py has theirs
        _schedule(recipe)
    _entropy_weight(recipe, line)


def _schedule(recipe: Recipe) -> None:
    every, epochs, lr, batch = {
        "mnist": (30, 90, 0.01, 256),
        "cifar10": (50, 150, 0.1, 256),
        "imagenet": (30, 90, 0.1, 200),
    }[recipe.data]
    assert (recipe.epochs, recipe.lr, recipe.batch) == (epochs, lr, batch)
    assert recipe.schedule.every == every  # type: ignore[attr-defined]
    assert (recipe.momentum, recipe.weight_decay, recipe.seed, recipe.reduced) == (0.9, 1e-4, 0, None)


def _entropy_weight(recipe: Recipe, line: Row) -> None:
    term = recipe.objective.terms[-1]
    if isinstance(term, Consistency):
        usual = 0.1 if (line.table, line.sigma) == (2, 1.0) else 0.5
        assert term.eta == (0.0 if method_of(line) == "KL-divergence" else usual)


@pytest.mark.parametrize("setting", paper.attack_settings(), ids=lambda s: f"{s.dataset}-{s.sigma}")
def test_smoothadv_has_its_best_settings_of_table_5(setting: paper.AttackSetting) -> None:
    data = setting.dataset.lower().replace("-", "")
    names = [f"{data}/smoothadv/{setting.sigma:.2f}"]
    if data == "cifar10":
        best = "smoothadv" if setting.sigma == 0.25 else "smoothadv-best"  # the only one that is printed there
        names = [f"cifar10/{method}/{setting.sigma:.2f}" for method in (best, "smoothadv+consistency")]
    for name in names:
        objective = find_recipe(name).objective
        attack = objective.attack
        assert isinstance(attack, PGD) and attack.warmup == 10
        assert (attack.epsilon, attack.steps, objective.m) == (setting.epsilon / 256, setting.steps, setting.m)


def test_smoothadv_on_cifar_is_salmans_attack_of_ten_steps_and_eight_views() -> None:
    for name in ("cifar10", "cifar10-resnet20", "cifar10-densenet40"):
        objective = find_recipe(f"{name}/smoothadv/0.50").objective
        salman = PGD(255 / 256, 10, warmup=10, project_first=False, damping="none")
        assert (objective.attack, objective.m) == (salman, 8)


def test_certification_is_the_papers() -> None:
    for name in OF_THE_PAPER:
        recipe = find_recipe(name)
        c = certification_of(recipe.data)
        assert (c.n0, c.n, c.alpha) == (100, 100_000, 0.001)
        votes = estimate(recipe, c).votes
        assert votes == 100_100 * (500 if recipe.data == "imagenet" else 10_000)


def test_cost_counts_passes_as_the_paper_orders_its_training_times() -> None:
    methods = ("gaussian", "consistency", "macer", "smoothadv-best")
    passes = [passes_per_image(find_recipe(f"cifar10/{m}/0.50")) for m in methods]
    assert passes == [1, 2, 16, 22]
    assert estimate(find_recipe("cifar10/stability/0.50"), certification_of("cifar10")).passes_per_image == 2
    hours = {c.method: c.hours for c in paper.costs()}
    assert hours["Gaussian + Consistency"] / hours["Gaussian"] == pytest.approx(2, abs=0.2)


def test_a_name_is_found_as_it_is_by_glob_or_by_part() -> None:
    assert matching("mnist/gaussian/0.50") == ["mnist/gaussian/0.50"]
    assert len(matching("mnist/*/0.50")) == 6 + 4 + 5  # with those of our own, and those after the paper
    assert "ablation/m/2/0.50" in matching("ablation/m") and len(matching("ablation/m/*/*")) == 9
    assert len(matching("ablation/m/*/text")) == 9 and not any(n.endswith("/text") for n in matching(""))
    with pytest.raises(InputError, match="smoothcert recipes"):
        matching("zzz")
    with pytest.raises(InputError, match=r"did you mean cifar10/consistency/0\.50\?"):
        find_recipe("cifar10/consistancy/0.50")
    assert find_recipe("cifar10/stability/1.00") is find_recipe("cifar10/stability-lbd1/1.00")


def test_recipes_do_not_wait_for_torch() -> None:
    code = "import sys, smoothcert.recipes.estimate; assert not {'torch', 'scipy.stats'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
