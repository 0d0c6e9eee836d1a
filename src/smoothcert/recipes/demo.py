"""Recipes for mnist5k, the digits that come with pip: schedules of our own, short enough for a coffee break."""

from smoothcert.attacks import DDN, PGD
from smoothcert.noise import Gaussian, Laplace, Noise, Uniform
from smoothcert.objectives import (
    MACER,
    Attack,
    Consistency,
    CrossEntropy,
    NoiseAttack,
    Objective,
    Stability,
    Term,
)
from smoothcert.recipes.first_network import FirstNetwork
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import LinearDecay


def row(objective: Objective, epochs: int = 20, first: FirstNetwork | None = None) -> Recipe:
    return Recipe("mnist5k", "lenet", objective, epochs, lr=0.02, schedule=LinearDecay(), batch=64, first=first)


def consistency(noise: Noise) -> Recipe:
    return row(Objective(noise, (CrossEntropy(), Consistency(5.0)), m=2))


def method(
    *terms: Term, m: int = 1, attack: Attack | NoiseAttack | None = None, first: FirstNetwork | None = None
) -> Recipe:
    """Five epochs at σ = 0.5: all methods side by side, MACER with a λ for so large a learning rate."""
    return row(Objective(Gaussian(0.5), terms, m, attack), epochs=5, first=first)


_PGD = PGD(1.0, steps=4, warmup=2)
_DDN = DDN(1.0, steps=4, warmup=2)

RECIPES = {
    "mnist5k/gaussian/0.50": row(Objective(Gaussian(0.5), (CrossEntropy(),))),
    "mnist5k/consistency/0.50": consistency(Gaussian(0.5)),
    # For ℓ₁; scales of the same standard deviation as σ = 0.5.
    "mnist5k/consistency-laplace/0.35": consistency(Laplace(0.35)),
    "mnist5k/consistency-uniform/0.87": consistency(Uniform(0.87)),
    "mnist5k/methods/gaussian/0.50": method(CrossEntropy()),
    "mnist5k/methods/consistency/0.50": method(CrossEntropy(), Consistency(5.0), m=2),
    "mnist5k/methods/smoothadv/0.50": method(CrossEntropy(), m=2, attack=_PGD),
    "mnist5k/methods/smoothadv-ddn/0.50": method(CrossEntropy(), m=2, attack=_DDN),
    "mnist5k/methods/smoothadv+consistency/0.50": method(CrossEntropy(), Consistency(1.0), m=2, attack=_PGD),
    "mnist5k/methods/stability/0.50": method(Stability(2.0)),
    "mnist5k/methods/macer/0.50": method(MACER(0.5, lbd=1.0, start=1), m=8),
}
