"""What a recipe costs: forward-backward passes, votes, and an estimate of the hours they take."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from smoothcert.errors import InputError
from smoothcert.recipes.certification import Certification
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.unopened import Unopened

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
    "photo_wide": (14.9, 5.6),
    "unet32": (0.76, None),  # no votes of its own
    "unet64": (2.7, None),
    "unet_noise32": (0.76, None),
}
MACHINE = "one core of an AMD EPYC"
_TOGETHER = re.compile(r"(?P<name>[^*+]+)(\*(?P<members>\d{1,4}))?(?P<mirror>\+mirror)?")  # as models.build reads it


@dataclass(frozen=True)
class Estimate:
    """None where the data set or the network is not one whose size or speed is known here."""

    passes_per_image: int
    """of f, in an epoch with all attacks"""
    passes: int | None
    """of single networks; not those of the first network or of the run it starts from"""
    votes: int | None
    training_hours: float | None
    """of the first network, the run it starts from and all votes on training images too, where there are any"""
    certification_hours: float | None


def passes_per_image(recipe: Recipe) -> int:
    """Forward-backward passes an epoch: m views and the clean one where it is wanted, T·m before them in an attack, or
    T times the views that it is shown.

    A term that looks elsewhere adds m views there, and T·m in the attack that finds them.

    >>> from smoothcert.recipes import find_recipe
    >>> passes_per_image(find_recipe("mnist/gaussian/0.50")), passes_per_image(find_recipe("mnist/smoothadv/0.50"))
    (1, 44)
    """
    objective = recipe.objective
    passes = objective.m + _attack_passes(recipe) + objective.wants_clean
    looking = [term for term in objective.terms if hasattr(term, "elsewhere")]
    return passes + sum(objective.m * (1 + getattr(term, "steps", 0)) for term in looking)


def _attack_passes(recipe: Recipe) -> int:
    objective, steps = recipe.objective, getattr(recipe.objective.attack, "steps", 0)
    return steps * getattr(objective, "attacked_views", objective.m)  # a denoiser's objective has none


def networks_in(model: str) -> int:
    """Single networks that an image goes through in a pass of f: k in NAME*k, and twice as many in NAME*k+mirror.

    >>> networks_in("lenet"), networks_in("lenet*5+mirror")
    (1, 10)
    """
    together = _TOGETHER.fullmatch(model)
    return 1 if together is None else int(together["members"] or 1) * (2 if together["mirror"] else 1)


def training_passes(recipe: Recipe) -> float:
    """Forward-backward passes of single networks that an image goes through in the whole training.

    An attack counts from its `start` on. The training of a first network counts, whether it was done before or not, and
    so does that of the weights it starts from: InputError where it is not known. Votes on training images, its own or a
    sampler's, do not count: they are forward only.

    >>> from smoothcert.recipes import find_recipe
    >>> training_passes(find_recipe("mnist/consistency/0.50")), training_passes(find_recipe("mnist/cat-rs/0.50"))
    (180, 3750)
    """
    passes = _own_passes(recipe)
    if recipe.first is not None:
        from smoothcert.recipes.recipe_of_first import recipe_of_first

        passes += _own_passes(recipe_of_first(recipe, recipe.first))
    if recipe.starts_from is not None:
        passes += training_passes(_recipe_before(recipe))
    elif recipe.init is not None:
        raise InputError(f"how long the weights of {recipe.init.name} were trained is not known")
    return passes


def _recipe_before(recipe: Recipe) -> Recipe:
    """The one whose run it starts from, on the same images."""
    from smoothcert.recipes import listed_recipe

    return replace(listed_recipe(recipe.starts_from or ""), data=recipe.data, fraction=recipe.fraction)


def _own_passes(recipe: Recipe) -> float:
    attack = recipe.objective.attack
    unattacked = min(recipe.epochs, getattr(attack, "start", 0))
    spared = unattacked * _attack_passes(recipe)
    return (recipe.epochs * passes_per_image(recipe) - spared) * networks_in(recipe.model) * (recipe.fraction or 1)


def estimate(recipe: Recipe, certification: Certification) -> Estimate:
    """Of one training and one certification, from nothing done."""
    each = passes_per_image(recipe)
    train, test = TRAINING_IMAGES.get(recipe.data), TEST_IMAGES.get(recipe.data)
    passes = None if train is None else round(train * _own_passes(recipe))
    certified = recipe.objective.task == "classify"
    votes = (
        None
        if test is None or not certified
        else -(-test // certification.every) * (certification.n0 + certification.n)
    )
    training, vote = _milliseconds(recipe.model)
    hours = _sum(_hours(passes, training), _hours(_votes_before(recipe, train), vote))
    if recipe.first is not None and recipe.first.sha256 is None:
        from smoothcert.recipes.recipe_of_first import recipe_of_first

        hours = _sum(hours, estimate(recipe_of_first(recipe, recipe.first), certification).training_hours)
    if recipe.starts_from is not None:
        hours = _sum(hours, estimate(_recipe_before(recipe), certification).training_hours)
    return Estimate(each, passes, votes, hours, _hours(votes, vote))


def _votes_before(recipe: Recipe, train: int | None) -> int | None:
    """Votes on training images that training asks for: those of a first network, and those of a sampler."""
    each = 0 if recipe.first is None else recipe.first.votes
    if recipe.sampler is not None and not isinstance(recipe.sampler, Unopened):
        looks = (recipe.sampler.draws_to_drop(e) + recipe.sampler.draws_to_weigh(e) for e in range(recipe.epochs))
        each += sum(looks)
    return None if train is None else round(train * each * (recipe.fraction or 1))


def _milliseconds(model: str) -> tuple[float | None, float | None]:
    """Of a pass of a single network, and of a vote of f."""
    together = _TOGETHER.fullmatch(model)
    training, vote = MILLISECONDS.get(model if together is None else together["name"], (None, None))
    return training, None if vote is None else vote * networks_in(model)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _hours(count: int | None, milliseconds: float | None) -> float | None:
    if count == 0:  # takes no time, however long one would take
        return 0.0
    return None if count is None or milliseconds is None else count * milliseconds / 3.6e6
