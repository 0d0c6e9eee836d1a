"""The paper's Consistency on MNIST for less than a quarter of its forward-backward passes: schedules of our own.

What buys most is an attack: one step of SmoothAdv's tells the network where consistency is hardest won. AdamW with a
rate that falls straight to 0 needs few epochs: eleven of four passes (one step of attack and one of descent, two views
each) instead of ninety of two, 44 passes, not 180. Under the widest noise four views do as well in five epochs, 40.
λ is the paper's for SmoothAdv + Consistency: a larger one gained nothing.
"""

from dataclasses import replace

from smoothcert.attacks import PGD
from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.schedule import LinearDecay


def few_epochs(objective: Objective, epochs: int) -> Recipe:
    """AdamW with a rate that falls straight to 0."""
    recipe = Recipe("mnist", "lenet", objective, epochs, lr=0.0015, schedule=LinearDecay(warmup=0.5), batch=32)
    return replace(recipe, second_moment=0.999, nesterov=False)


def consistency(sigma: float, epsilon: float, m: int, epochs: int) -> Recipe:
    terms, attack = (CrossEntropy(), Consistency(lbd=1.0)), PGD(epsilon, steps=1, warmup=4)
    return few_epochs(Objective(Gaussian(sigma), terms, m, attack=attack), epochs)


RECIPES = {
    "mnist/consistency-fast/0.25": consistency(0.25, epsilon=1.0, m=2, epochs=11),
    "mnist/consistency-fast/0.50": consistency(0.5, epsilon=1.0, m=2, epochs=11),
    "mnist/consistency-fast/1.00": consistency(1.0, epsilon=1.5, m=4, epochs=5),
}
