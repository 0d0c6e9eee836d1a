"""Recipes for mnist5k, the digits that come with pip: schedules of our own, short enough for a coffee break."""

from smoothcert.attacks import DDN, PGD
from smoothcert.noise import Gaussian, Laplace, Uniform
from smoothcert.objectives import Consistency, CrossEntropy, Objective
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.schedule import LinearDecay


def row(objective: Objective, epochs: int = 20) -> Recipe:
    return Recipe("mnist5k", "lenet", objective, epochs=epochs, lr=0.02, schedule=LinearDecay(), batch=64)


def method(*terms: object, m: int = 1, attack: PGD | DDN | None = None) -> Recipe:
    """Five epochs at σ = 0.5: to see all methods side by side, what they cost and what they certify."""
    return row(Objective(Gaussian(0.5), terms, m, attack), epochs=5)  # type: ignore[arg-type]


RECIPES = {
    "mnist5k/gaussian/0.50": row(Objective(Gaussian(0.5), (CrossEntropy(),))),
    "mnist5k/consistency/0.50": row(Objective(Gaussian(0.5), (CrossEntropy(), Consistency(5.0)), m=2)),
    # ℓ₁: noise of the same standard deviation, 0.5
    "mnist5k/consistency-laplace/0.35": row(
        Objective(Laplace(0.35), (CrossEntropy(), Consistency(5.0)), m=2)
    ),
    "mnist5k/consistency-uniform/0.87": row(
        Objective(Uniform(0.87), (CrossEntropy(), Consistency(5.0)), m=2)
    ),
}
