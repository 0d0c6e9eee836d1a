"""What a recipe costs: forward-backward passes, votes, and an estimate of the hours they take."""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.recipes.certification import Certification
from smoothcert.recipes.recipe import Recipe

TRAINING_IMAGES = {"mnist": 60_000, "fashion_mnist": 60_000, "cifar10": 50_000, "imagenet": 1_281_167, "mnist5k": 4_000}
TEST_IMAGES = {"mnist": 10_000, "fashion_mnist": 10_000, "cifar10": 10_000, "imagenet": 50_000, "mnist5k": 1_000}
# Milliseconds per image of a forward-backward pass and of a vote, on one core of an AMD EPYC (bench/passes.py): good to
# a fifth for most runs in results/, to an order on other machines.
MILLISECONDS: dict[str, tuple[float, float | None]] = {
    "lenet": (0.38, 0.12),
    "cifar_resnet20": (5.5, 1.6),
    "cifar_densenet40": (15.4, 4.0),
    "cifar_wide": (9.4, 2.9),
    "cifar_resnet110": (31.3, 9.4),
    "imagenet_resnet50": (540.0, 145.0),
    "cifar_wide50": (2.8, 0.8),
    "unet32": (0.76, None),  # no votes of its own
    "unet64": (2.7, None),
    "unet_noise32": (0.76, None),
}
MACHINE = "one core of an AMD EPYC"


@dataclass(frozen=True)
class Estimate:
    """None where the data set or the network is not one whose size or speed is known here."""

    passes_per_image: int
    passes: int | None
    votes: int | None
    training_hours: float | None
    certification_hours: float | None


def passes_per_image(recipe: Recipe) -> int:
    """Forward-backward passes an epoch: m views and the clean one where it is wanted, T·m before them in an attack.

    >>> from smoothcert.recipes import find_recipe
    >>> passes_per_image(find_recipe("mnist/gaussian/0.50")), passes_per_image(find_recipe("mnist/smoothadv/0.50"))
    (1, 44)
    """
    objective = recipe.objective
    steps = getattr(objective.attack, "steps", 0)
    return objective.m * (1 + steps) + objective.wants_clean


def estimate(recipe: Recipe, certification: Certification) -> Estimate:
    """Of one training and one certification, from nothing done."""
    each = passes_per_image(recipe)
    train, test = TRAINING_IMAGES.get(recipe.data), TEST_IMAGES.get(recipe.data)
    passes = None if train is None else round(recipe.epochs * train * each * (recipe.fraction or 1))
    certified = recipe.objective.task == "classify"
    votes = (
        None
        if test is None or not certified
        else -(-test // certification.every) * (certification.n0 + certification.n)
    )
    training, vote = MILLISECONDS.get(recipe.model, (None, None))
    return Estimate(each, passes, votes, _hours(passes, training), _hours(votes, vote))


def _hours(count: int | None, milliseconds: float | None) -> float | None:
    return None if count is None or milliseconds is None else count * milliseconds / 3.6e6
