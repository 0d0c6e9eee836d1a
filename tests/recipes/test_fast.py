"""The fast recipes: the paper's method and λ, at most a quarter of its forward-backward passes."""

import pytest

from smoothcert.recipes import find
from smoothcert.recipes.cost import passes_per_image


@pytest.mark.parametrize("sigma", ["0.25", "0.50", "1.00"])
def test_a_quarter_of_the_passes_and_the_papers_loss(sigma):
    fast, paper = find(f"mnist/consistency-fast/{sigma}"), find(f"mnist/consistency/{sigma}")
    cost, whole = (recipe.epochs * passes_per_image(recipe) for recipe in (fast, paper))
    assert whole == 180 and cost <= whole / 4
    assert fast.objective.terms == paper.objective.terms and fast.objective.noise == paper.objective.noise
    assert fast.objective.attack is None and (fast.data, fast.model) == (paper.data, paper.model)
