"""Photographs at 224×224: ten classes of ImageNet, a small network from scratch.

60 epochs are meant for 1,000 images, which is all that were at hand. The whole set has 9,469: take fewer epochs there.
λ is the paper's for ImageNet.
"""

from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective, Term
from smoothcert.recipes.muon import Muon
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import Trapezoid


def photographs(*terms: Term, m: int, epochs: int = 60) -> Recipe:
    """λ and η rise over the first half, as in `cifar10/consistency-fast`."""
    return Recipe(
        "imagenette",
        "photo_wide",
        Objective(Gaussian(0.25), (CrossEntropy(), *terms), m, ramp=epochs / 2 if terms else 0.0),
        epochs,
        lr=0.05,
        schedule=Trapezoid(up=0.1, down=0.9),
        batch=50,
        weight_decay=5e-4,
        muon=Muon(lr=0.05, momentum=0.9, stem=False),
        ema=0.99,
        precision="bfloat16",
    )


RECIPES = {
    "imagenette/gaussian/0.25": photographs(m=1),
    "imagenette/consistency/0.25": photographs(Consistency(5.0), m=2),
}
