"""A recipe or certification with a fraction of the work, for a quick look; marked as reduced wherever it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from smoothcert.errors import InputError
from smoothcert.objectives import Goal, Objective
from smoothcert.recipes.certification import Certification
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import Schedule

# Fewer votes than this certify next to nothing at α = 0.001: 100 unanimous ones give 1.5 σ.
_LEAST_VOTES = 100
_LEAST_IMAGES = 20  # fewer have no standard error to speak of


def reduced_recipe(recipe: Recipe, scale: float) -> Recipe:
    """A fraction of the epochs; what is told in epochs (decay, warm-up, deferral) shrinks with them.

    Where less than one epoch is left, it is one over a fraction of the training images. The mark goes into
    `recipe.reduced`, and so into the run's recipe.json, its model and its certification log.
    """
    require_scale(scale)
    if scale == 1:
        return recipe
    epochs, left = max(1, round(scale * recipe.epochs)), scale * recipe.epochs
    share, fraction = epochs / recipe.epochs, min(1.0, left) * (recipe.fraction or 1.0)
    images = "" if fraction == 1 else f" on {100 * fraction:.3g} % of the images"
    already = f" (of a recipe that was reduced before: {recipe.reduced})" if recipe.reduced else ""
    return replace(
        recipe,
        epochs=epochs,
        fraction=fraction if fraction < 1 else None,
        objective=_objective(recipe.objective, share),
        schedule=_schedule(recipe.schedule, share),
        sampler=_shrunk(
            recipe.sampler, start=lambda e: round(share * e), every=lambda e: e and max(1, round(share * e))
        ),
        first=_shrunk(
            recipe.first, scale=lambda s: s * scale, votes=lambda n: min(n, max(_LEAST_VOTES, round(scale * n)))
        ),
        reduced=f"scale {scale:g}: {epochs} of {recipe.epochs} epochs{images}{already}",
    )


def reduced_certification(certification: Certification, scale: float, test_images: int = 10_000) -> Certification:
    """A fraction of the images, evenly spaced, at least 20, and of the votes, at least 100.

    Its log says how many of both there were.
    """
    require_scale(scale)
    n = min(certification.n, max(_LEAST_VOTES, round(scale * certification.n)))
    every = min(certification.every * max(1, round(1 / scale)), test_images // _LEAST_IMAGES)
    return replace(certification, n=n, every=max(certification.every, every))


def require_scale(scale: float) -> None:
    if not 0 < scale <= 1:
        raise InputError(f"--scale is a fraction of the work above 0 and up to 1, not {scale:g}")


def _objective(objective: Goal, share: float) -> Goal:
    if not isinstance(objective, Objective):
        return objective  # is the same in every epoch
    start, warmup = lambda e: round(share * e), lambda e: max(1, round(share * e))
    terms = tuple(_shrunk(term, start=start, warmup=warmup) for term in objective.terms)
    attack = _shrunk(objective.attack, start=start, warmup=warmup)
    return replace(objective, terms=terms, attack=attack, ramp=share * objective.ramp)


def _schedule(schedule: Schedule, share: float) -> Any:
    every, late, warmup = lambda e: max(1, round(share * e)), lambda e: round(share * e), lambda e: share * e
    return _shrunk(schedule, every=every, late=late, warmup=warmup)


def _shrunk(part: Any, **by: Callable[[Any], float]) -> Any:
    """`part` with those of the named fields that it has made smaller."""
    smaller = {name: less(getattr(part, name)) for name, less in by.items() if hasattr(part, name)}
    return replace(part, **smaller) if smaller else part
