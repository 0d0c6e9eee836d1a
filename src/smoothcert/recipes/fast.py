"""The paper's Consistency on MNIST for less than a quarter of its forward-backward passes: schedules of our own.

AdamW with a rate that falls straight to 0 needs few epochs, and four views make the regulariser's gradient better than
two: eleven epochs of four passes instead of ninety of two, 44 passes, not 180. Under the widest noise one step of
SmoothAdv's attack buys more than epochs do, since it tells the network where consistency is hardest won: five epochs of
eight passes, 40. λ is then the paper's for SmoothAdv + Consistency; with the λ of Consistency alone nothing is learnt
from adversarial images in so short a time.
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


def consistency(sigma: float, lbd: float) -> Recipe:
    return few_epochs(Objective(Gaussian(sigma), (CrossEntropy(), Consistency(lbd)), m=4), epochs=11)


def attacked_consistency(sigma: float, lbd: float, epsilon: float) -> Recipe:
    terms, attack = (CrossEntropy(), Consistency(lbd)), PGD(epsilon, steps=1, warmup=4)
    return few_epochs(Objective(Gaussian(sigma), terms, m=4, attack=attack), epochs=5)


RECIPES = {
    "mnist/consistency-fast/0.25": consistency(0.25, lbd=10.0),
    "mnist/consistency-fast/0.50": consistency(0.5, lbd=5.0),
    "mnist/consistency-fast/1.00": attacked_consistency(1.0, lbd=1.0, epsilon=1.5),
}
