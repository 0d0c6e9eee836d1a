"""Which printed row a log belongs to, and what is said about the gap."""

from dataclasses import replace

import pytest

from smoothcert.analysis.beside_paper import beside
from smoothcert.analysis.printed import rows_for
from smoothcert.analysis.reduction import reductions
from smoothcert.analysis.setting import Setting, setting_of
from smoothcert.analysis.verdict import rounded_as_printed
from smoothcert.paper import find_row, rows
from smoothcert.recipes import RECIPES, find_recipe, printed_rows, to_dict
from smoothcert.recipes.reduced import reduced_recipe
from tests.analysis.made import curve_about, random_results, results

FULL = {"n0": 100, "n": 100_000, "alpha": 0.001, "selected": 10_000}


def of_recipe(recipe, **about):
    values = to_dict(recipe)
    header = {**FULL, "recipe": values, "noise": values["objective"]["noise"], **about}
    return random_results(images=10_000, about=header)


@pytest.mark.parametrize(("name", "row"), [(name, row) for row in rows() for name in row.recipes])
def test_a_recipe_finds_its_printed_row_and_no_other(name, row):
    found = rows_for(of_recipe(find_recipe(name)))
    assert row in found and found == printed_rows(name)


def test_a_curve_log_is_compared_at_the_radii_of_its_grid():
    made = of_recipe(RECIPES["mnist/gaussian/0.50"], **curve_about(0.0, 0.5, 0.6))
    found = beside([made], find_row("6:7"))
    assert [c.radius for c in found.cells] == [0.0, 0.5] and found.verdict.word == "no ACR"


def test_other_settings_find_no_row():
    recipe = RECIPES["mnist/consistency/0.50"]
    assert rows_for(of_recipe(replace(recipe, data="fashion_mnist"))) == ()
    assert rows_for(of_recipe(replace(recipe, objective=replace(recipe.objective, m=3)))) == ()
    assert rows_for(of_recipe(RECIPES["mnist5k/gaussian/0.50"])) == ()
    assert rows_for(random_results(about={})) == ()


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("mnist_gaussian_sigma1.00", Setting("mnist", "lenet", "gaussian", 1.0)),
        ("mnist_consistency_lambda5_m4_sigma0.50", Setting("mnist", "lenet", "consistency", 0.5, 5.0, 4)),
        (
            "cifar10_resnet110_smoothadv_consistency_lambda1_sigma1.00",
            Setting("cifar10", "cifar_resnet110", "smoothadv+consistency", 1.0, 1.0),
        ),
        ("imagenet_resnet50_macer", Setting("imagenet", "imagenet_resnet50", "macer")),
        ("whatever", Setting()),
    ],
)
def test_a_tsv_log_says_it_in_its_name(name, setting):
    assert setting_of(random_results(name=name, about={})) == setting


def test_what_was_reduced_is_named():
    recipe = RECIPES["mnist/gaussian/0.50"]
    assert reductions(of_recipe(recipe)) == []
    assert reductions(of_recipe(replace(recipe, epochs=2), n=1000, selected=500)) == [
        "2 of 90 epochs",
        "500 of 10,000 test images",
        "1,000 of 100,000 votes",
    ]
    assert reductions(of_recipe(reduced_recipe(recipe, 0.02))) == ["scale 0.02: 2 of 90 epochs"]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_one_epoch_less_than_the_row_has_is_reduced(row):
    for recipe in map(find_recipe, row.recipes):
        less = of_recipe(replace(recipe, epochs=recipe.epochs - 1), selected=500 if row.table == 2 else 10_000)
        assert reductions(less) == [f"{recipe.epochs - 1} of {recipe.epochs} epochs"]


def test_printed_numbers_are_compared_with_numbers_rounded_alike():
    row = find_row("6:7")
    made = results([0, 0], [0, 0], [1.7459, 1.7451], about={**FULL, "noise": {"kind": "gaussian", "sigma": 0.5}})
    cell = next(c for c in beside([made], row).cells if c.radius == 1.75)
    assert (cell.ours, cell.as_printed, cell.gap) == (0.0, 100.0, pytest.approx(100 - 43.6))
    assert rounded_as_printed(made).radius.tolist() == [1.75, 1.75]
