"""Methods of the paper on CIFAR-10 within a sitting on two cores: a network and schedules of our own.

A wide network in bfloat16, Muon on its filters, the average of its weights. Settings were chosen by trials of four
epochs at half the width, on training images put aside (docs/cifar10.md has them all). Gaussian and Stability go
through as many epochs as Consistency, with the passes that they need.

`-onward` goes on from σ = 0.5 to another σ: `train cifar10/consistency-onward/1.00 --init RUN`, RUN a run of
`cifar10/consistency-fast/0.50`, whose features serve all σ. Ten more epochs, not 25.
"""

from dataclasses import replace

from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective, Stability, Term
from smoothcert.recipes.muon import Muon
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import Trapezoid


def wide(sigma: float, *terms: Term, m: int, epochs: int = 25, ramp: float = 12.5, lr: float = 0.1) -> Recipe:
    """λ and η rise over the first half: a network that has learnt nothing yet is consistent best by saying nothing."""
    return Recipe(
        "cifar10",
        "cifar_wide",
        Objective(Gaussian(sigma), (CrossEntropy(), *terms), m, ramp=ramp if terms else 0.0),
        epochs,
        lr=lr,
        schedule=Trapezoid(up=0.1, down=0.9),
        weight_decay=5e-4,
        muon=Muon(lr=lr, momentum=0.9, stem=False),
        ema=0.998,
        precision="bfloat16",
    )


def onward(sigma: float, *terms: Term, m: int, start: str) -> Recipe:
    """λ and η rise over the first third only: some consistency is there already."""
    return replace(wide(sigma, *terms, m=m, epochs=10, ramp=3.0, lr=0.06), starts_from=start)


# λ are the paper's best of each σ.
_TERMS: dict[str, dict[float, tuple[Term, ...]]] = {
    "gaussian": {0.25: (), 0.5: (), 1.0: ()},
    "stability": {0.25: (Stability(2.0),), 0.5: (Stability(2.0),), 1.0: (Stability(1.0),)},
    "consistency": {0.25: (Consistency(20.0),), 0.5: (Consistency(10.0),), 1.0: (Consistency(10.0),)},
}
_VIEWS = {"gaussian": 1, "stability": 1, "consistency": 2}

RECIPES = {
    f"cifar10/{method}-fast/{sigma:.2f}": wide(sigma, *terms, m=_VIEWS[method])
    for method, at in _TERMS.items()
    for sigma, terms in at.items()
}
RECIPES |= {
    f"cifar10/{method}-onward/{sigma:.2f}": onward(sigma, *terms, m=_VIEWS[method], start=f"cifar10/{method}-fast/0.50")
    for method, at in _TERMS.items()
    for sigma, terms in at.items()
    if sigma != 0.5
}
