"""SmoothAdv on MNIST for what the paper's Consistency costs: 176 forward-backward passes an image, where that has 180.

Four epochs instead of ninety, since an epoch is 44 passes (ten steps of attack, four views); optimiser and schedule are
those of the fast recipes. MACER needs none of its own: `--scale 0.122` leaves it eleven epochs of sixteen passes.
"""

from dataclasses import replace

from smoothcert.attacks import PGD
from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective, Term
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.fast import few_epochs


def smoothadv(sigma: float, *terms: Term) -> Recipe:
    attack = PGD(1.0, steps=10, warmup=3)
    recipe = few_epochs(Objective(Gaussian(sigma), (CrossEntropy(), *terms), m=4, attack=attack), epochs=4)
    return replace(recipe, reduced="4 of 90 epochs, a schedule of our own")


RECIPES = {
    "mnist/smoothadv-short/0.25": smoothadv(0.25),
    "mnist/smoothadv-short/0.50": smoothadv(0.5),
    "mnist/smoothadv-short/1.00": smoothadv(1.0),
    "mnist/smoothadv+consistency-short/0.25": smoothadv(0.25, Consistency(1.0)),
    "mnist/smoothadv+consistency-short/0.50": smoothadv(0.5, Consistency(1.0)),
    "mnist/smoothadv+consistency-short/1.00": smoothadv(1.0, Consistency(1.0)),
}
