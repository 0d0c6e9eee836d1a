"""The two ways to follow the paper, the rows of its table 6, and recipes that survive being written down."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from smoothcert.attacks import DDN, PGD
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.objectives import MACER, Consistency, CrossEntropy, Objective, Stability, Term
from smoothcert.recipes import RECIPES, Recipe, find_recipe, from_dict, to_dict
from smoothcert.recipes.jeong2020_mnist import mnist, table6
from smoothcert.recipes.schedule import StepDecay

CODE, TEXT = mnist(code=True), mnist(code=False)
SIGMAS = ("0.25", "0.50", "1.00")
METHODS = ("gaussian", "consistency", "smoothadv", "smoothadv+consistency", "stability", "macer")
TABLE_6 = Path(__file__).parents[3] / "shared/paper/table6_mnist_lenet.csv"


def objective(*terms: Term, m: int) -> Objective:
    return Objective(Gaussian(0.5), terms, m)


def test_the_code_cuts_batches_of_consistency_and_smoothadv_and_of_nobody_else() -> None:
    for cut, case in [
        (False, objective(CrossEntropy(), m=1)),
        (True, objective(CrossEntropy(), m=4)),
        (True, objective(CrossEntropy(), Consistency(1.0), m=2)),
        (False, objective(Stability(2.0), m=1)),
        (False, objective(Stability(2.0), Consistency(1.0), m=2)),
        (False, objective(MACER(0.5, 16.0), m=16)),
    ]:
        assert CODE.splits_batch(case) is cut and TEXT.splits_batch(case) is False


def test_epsilon_is_in_units_of_a_256th_in_the_code_and_rounded_in_the_text() -> None:
    numbers = (64, 128, 255, 512)
    assert [CODE.epsilon(n) for n in numbers] == [0.25, 0.5, 0.99609375, 2.0]
    assert [TEXT.epsilon(n) for n in numbers] == [0.25, 0.5, 1.0, 2.0]


def test_decay_and_momentum_differ_too() -> None:
    code, text = CODE.gaussian(0.5), TEXT.gaussian(0.5)
    assert (code.nesterov, text.nesterov) == (False, True)
    late, punctual = code.schedule, text.schedule
    assert [e for e in range(1, 90) if late.factor(e, 90) < late.factor(e - 1, 90)] == [31, 61]
    assert [e for e in range(1, 90) if punctual.factor(e, 90) < punctual.factor(e - 1, 90)] == [30, 60]


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("method", METHODS)
def test_every_row_of_table_6_stands_in_both_ways(method: str, sigma: str) -> None:
    code, text = find_recipe(f"mnist/{method}/{sigma}"), find_recipe(f"mnist/{method}/{sigma}/text")
    for recipe in (code, text):
        assert recipe.objective.noise == Gaussian(float(sigma))
        assert (recipe.epochs, recipe.lr, recipe.batch, recipe.momentum, recipe.weight_decay) == (
            90,
            0.01,
            256,
            0.9,
            1e-4,
        )
    assert (code.schedule, code.nesterov) == (StepDecay(30, late=1), False)
    assert (text.schedule, text.nesterov, text.split_batch) == (StepDecay(30), True, False)


def test_the_rows_have_the_papers_settings() -> None:
    pgd = PGD(255 / 256, 10, warmup=10, damping="batch")
    salman = PGD(255 / 256, 10, warmup=10, project_first=False, damping="none")
    assert find_recipe("mnist/consistency/0.25").objective.terms == (CrossEntropy(), Consistency(10.0, 0.5))
    assert find_recipe("mnist/consistency/1.00").images_per_step == 128
    assert find_recipe("mnist/smoothadv+consistency/0.50").objective.attack == pgd
    assert find_recipe("mnist/smoothadv+consistency/0.50").objective.terms[1] == Consistency(1.0, 0.5)
    assert find_recipe("mnist/smoothadv/0.50").objective.attack == salman
    assert find_recipe("mnist/smoothadv/0.50/text").objective.attack == PGD(1.0, 10, warmup=10, damping="none")
    assert (
        find_recipe("mnist/smoothadv/0.50").images_per_step == 64
        and find_recipe("mnist/smoothadv/0.50").objective.m == 4
    )
    assert find_recipe("mnist/macer/0.50").objective.terms == (MACER(0.5, 16.0, 8.0, 16.0, start=31),)
    assert find_recipe("mnist/macer/1.00/text").objective.terms == (MACER(1.0, 6.0, 8.0, 16.0, start=0),)
    assert find_recipe("mnist/macer/0.50").images_per_step == 256 and find_recipe("mnist/macer/0.50").objective.m == 16
    assert find_recipe("mnist/stability/1.00").objective == Objective(Gaussian(1.0), (Stability(2.0),))


@pytest.mark.skipif(not TABLE_6.exists(), reason="the paper's tables are not here")
def test_table_6_has_these_rows_and_no_others() -> None:
    short = {"Gaussian": "gaussian", "SmoothAdv": "smoothadv", "Stability": "stability", "MACER": "macer"}
    rows = set()
    for row in csv.DictReader(TABLE_6.read_text().splitlines()):
        method, _, weight = row["method"].partition(" (lambda=")
        base, plus, _ = method.partition(" + ")
        name = short[base] + ("+consistency" if plus else "")
        name = f"mnist/{name.removeprefix('gaussian+')}/{row['sigma']}"
        rows.add(name)
        if weight:
            assert find_recipe(name).objective.terms[1] == Consistency(float(weight.removesuffix(")")))
    assert rows == set(table6(code=True))


def test_the_methods_stand_side_by_side_on_mnist5k() -> None:
    rows = {name.split("/")[2]: r for name, r in RECIPES.items() if name.startswith("mnist5k/methods/")}
    later = {"smoothmix", "smoothmix-onestep", "noise-attack+consistency", "cat-rs", "easy-images"}
    assert set(rows) == {*METHODS, "smoothadv-ddn", *later}
    assert {(r.data, r.epochs, r.batch, r.lr, r.objective.noise) for r in rows.values()} == {
        ("mnist5k", 5, 64, 0.02, Gaussian(0.5))
    }
    counts = {name: r.num_hyperparameters for name, r in rows.items()}
    assert counts == {
        "gaussian": 0,
        "consistency": 2,
        "smoothadv": 4,
        "smoothadv-ddn": 5,
        "smoothadv+consistency": 6,
        "stability": 1,
        "macer": 4,
        "smoothmix": 5,
        "smoothmix-onestep": 8,
        "noise-attack+consistency": 6,
        "cat-rs": 4,
        "easy-images": 4,
    }


def test_consistency_is_offered_for_l1_noise() -> None:
    for name in ("mnist5k/consistency-laplace/0.35", "mnist5k/consistency-uniform/0.87"):
        noise = find_recipe(name).objective.noise
        assert noise.norm == 1 and noise.marginal.std() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_survives_json(name: str) -> None:
    recipe = RECIPES[name]
    written = json.loads(json.dumps(to_dict(recipe)))
    assert from_dict(written) == recipe and ("attack" in written["objective"]) == (recipe.objective.attack is not None)


def test_attacks_are_read_as_strictly_as_the_rest() -> None:
    recipe = Recipe(
        "mnist5k", "lenet", Objective(Gaussian(0.5), (CrossEntropy(),), 2, DDN(1, 4)), 5, 0.02, StepDecay(30)
    )
    written = to_dict(recipe)
    assert written["objective"]["attack"]["kind"] == "ddn"
    for change, message in [
        ({"kind": "pgdd"}, r"recipe.objective.attack: unknown kind 'pgdd'"),
        ({"stepz": 3}, r"recipe.objective.attack: unknown field 'stepz': did you mean steps\?"),
        ({"steps": 2.5}, r"recipe.objective.attack.steps must be of type int"),
    ]:
        broken = json.loads(json.dumps(written))
        broken["objective"]["attack"] |= change
        with pytest.raises(InputError, match=message):
            from_dict(broken)
    written["objective"]["attack"] = None
    assert from_dict(written).objective.attack is None
