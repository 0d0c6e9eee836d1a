"""Methods of the paper on MNIST for a part of their forward-backward passes: schedules of our own.

`consistency-fast` costs less than a quarter of the paper's Consistency, 44 passes an image, not 180. What buys most is
an attack: one step of SmoothAdv's tells the network where consistency is hardest won. AdamW with a rate that falls
straight to 0 needs few epochs: eleven of four passes (one step of attack and one of descent, two views each) instead of
ninety of two. Under the widest noise four views do as well in five epochs, 40 passes. λ is the paper's for
SmoothAdv + Consistency: a larger one gained nothing.

`smoothadv-short` is SmoothAdv for what the paper's Consistency costs: 176 passes, four epochs of 44 (ten steps of
attack, four views). MACER needs no such recipe: `--scale 0.122` leaves it eleven epochs of sixteen passes.
"""

from dataclasses import replace

from smoothcert.attacks import PGD
from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective, Term
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import LinearDecay


def few_epochs(sigma: float, *terms: Term, m: int, attack: PGD, epochs: int) -> Recipe:
    """AdamW with a rate that falls straight to 0."""
    objective = Objective(Gaussian(sigma), (CrossEntropy(), *terms), m, attack)
    recipe = Recipe("mnist", "lenet", objective, epochs, lr=0.0015, schedule=LinearDecay(warmup=0.5), batch=32)
    return replace(recipe, second_moment=0.999, nesterov=False)


def fast(sigma: float, epsilon: float, m: int, epochs: int) -> Recipe:
    return few_epochs(sigma, Consistency(1.0), m=m, attack=PGD(epsilon, steps=1, warmup=4), epochs=epochs)


def short(sigma: float, *terms: Term) -> Recipe:
    recipe = few_epochs(sigma, *terms, m=4, attack=PGD(1.0, steps=10, warmup=3), epochs=4)
    return replace(recipe, reduced="4 of 90 epochs, a schedule of our own")


RECIPES = {
    "mnist/consistency-fast/0.25": fast(0.25, epsilon=1.0, m=2, epochs=11),
    "mnist/consistency-fast/0.50": fast(0.5, epsilon=1.0, m=2, epochs=11),
    "mnist/consistency-fast/1.00": fast(1.0, epsilon=1.5, m=4, epochs=5),
    "mnist/smoothadv-short/0.25": short(0.25),
    "mnist/smoothadv-short/0.50": short(0.5),
    "mnist/smoothadv-short/1.00": short(1.0),
    "mnist/smoothadv+consistency-short/0.25": short(0.25, Consistency(1.0)),
    "mnist/smoothadv+consistency-short/0.50": short(0.5, Consistency(1.0)),
    "mnist/smoothadv+consistency-short/1.00": short(1.0, Consistency(1.0)),
}
