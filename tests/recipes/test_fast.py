"""The fast recipes: at most a quarter of the forward-backward passes of the paper's Consistency, under its noise."""

import pytest

from smoothcert.attacks import PGD
from smoothcert.objectives import Consistency, CrossEntropy
from smoothcert.recipes import find_recipe
from smoothcert.recipes.estimate import passes_per_image


@pytest.mark.parametrize(("sigma", "passes"), [("0.25", 44), ("0.50", 44), ("1.00", 40)])
def test_the_fast_recipe_costs_a_quarter_of_the_passes(sigma, passes):
    fast, paper = find_recipe(f"mnist/consistency-fast/{sigma}"), find_recipe(f"mnist/consistency/{sigma}")
    cost, whole = (recipe.epochs * passes_per_image(recipe) for recipe in (fast, paper))
    assert whole == 180 and cost == passes
    assert {type(term) for term in fast.objective.terms} == {CrossEntropy, Consistency}
    assert isinstance(fast.objective.attack, PGD) and fast.objective.attack.steps == 1
    assert fast.objective.noise == paper.objective.noise
    assert (fast.data, fast.model) == (paper.data, paper.model)
