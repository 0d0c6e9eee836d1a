"""Methods of the paper on CIFAR-10 within a sitting on two cores: a network and schedules of our own.

A wide network in bfloat16, Muon on its filters, the average of its weights. Settings were chosen by trials of four
epochs at half the width, on training images put aside (docs/cifar10.md has them all). Gaussian and Stability go
through as many epochs as Consistency, with the passes that they need.
"""

from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective, Stability, Term
from smoothcert.recipes.muon import Muon
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import Trapezoid

EPOCHS = 25


def wide(sigma: float, *terms: Term, m: int) -> Recipe:
    """λ and η rise over the first half: a network that has learnt nothing yet is consistent best by saying nothing."""
    return Recipe(
        "cifar10",
        "cifar_wide",
        Objective(Gaussian(sigma), (CrossEntropy(), *terms), m, ramp=EPOCHS / 2 if terms else 0.0),
        EPOCHS,
        lr=0.1,
        schedule=Trapezoid(up=0.1, down=0.9),
        weight_decay=5e-4,
        muon=Muon(lr=0.1, momentum=0.9, stem=False),
        ema=0.998,
        precision="bfloat16",
    )


# λ are the paper's best of each σ.
RECIPES = {
    **{f"cifar10/gaussian-fast/{sigma:.2f}": wide(sigma, m=1) for sigma in (0.25, 0.5, 1.0)},
    "cifar10/stability-fast/0.25": wide(0.25, Stability(2.0), m=1),
    "cifar10/stability-fast/0.50": wide(0.5, Stability(2.0), m=1),
    "cifar10/stability-fast/1.00": wide(1.0, Stability(1.0), m=1),
    "cifar10/consistency-fast/0.25": wide(0.25, Consistency(20.0), m=2),
    "cifar10/consistency-fast/0.50": wide(0.5, Consistency(10.0), m=2),
    "cifar10/consistency-fast/1.00": wide(1.0, Consistency(10.0), m=2),
}
