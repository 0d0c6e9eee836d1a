"""What was trained and how it was smoothed, as far as a log tells: by its recipe, or else by its path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from smoothcert.analysis.published import Setting, setting_of_path
from smoothcert.analysis.results import Results
from smoothcert.files.source import is_spec
from smoothcert.noise import AnyGaussian
from smoothcert.objectives import (
    MACER,
    CatRS,
    Consistency,
    CrossEntropy,
    Goal,
    MeanSquared,
    Objective,
    SmoothMix,
    Stability,
)
from smoothcert.recipes import Recipe
from smoothcert.recipes.serialize import kind_of

__all__ = ["Setting", "by_panel", "recipe_setting", "setting_of"]

NO_SIGMA = "σ not stated"


def setting_of(results: Results) -> Setting:
    """From the header's recipe; a TSV log says it, if at all, in its file's and folders' names (see `published`)."""
    header = results.header
    sigma = header.noise.sigma if isinstance(header.noise, AnyGaussian) else None
    if header.recipe is not None:
        return recipe_setting(header.recipe, sigma)
    if header.stated:
        return Setting(None if header.data is None else header.data.name, sigma=sigma)
    return setting_of_path(results.path.absolute() if results.path else PurePath(results.name))


def recipe_setting(recipe: Recipe, sigma: float | None) -> Setting:
    """Of a recipe certified under Gaussian noise of this σ."""
    objective = recipe.objective
    method, lbd = _method(objective, recipe.data)
    eta = next((term.eta for term in objective.terms if isinstance(term, Consistency)), None)
    return Setting(recipe.data, recipe.model, method, sigma, lbd, objective.m, eta)


def by_panel(everything: Sequence[Results]) -> dict[tuple[str, str], list[int]]:
    """Data set and noise in words → the places of the logs that share both, and so belong into one panel."""
    found: dict[tuple[str, float], list[int]] = {}
    for place, results in enumerate(everything):
        setting, noise = setting_of(results), results.header.noise
        name, scale = setting.dataset or "unknown data", setting.sigma
        if noise is not None and not isinstance(noise, AnyGaussian):
            called = str(getattr(noise, "called", type(noise).__name__))
            name, scale = f"{name}, {called.lower()}", noise.scale
        found.setdefault((name, -1.0 if scale is None else scale), []).append(place)
    return {(name, NO_SIGMA if scale < 0 else f"σ = {scale:.2f}"): found[name, scale] for name, scale in sorted(found)}


def _method(objective: Goal, dataset: str) -> tuple[str | None, float | None]:
    """The method's name in the tables, and its λ; with a part of somebody's own it is none of them."""
    if not isinstance(objective, Objective):
        return None, None
    attack = objective.attack
    if any(is_spec(kind_of(part)) for part in (*objective.terms, attack) if part is not None):
        return None, None
    if getattr(attack, "moves_noise", False) or any(isinstance(term, SmoothMix | CatRS) for term in objective.terms):
        return _later_method(objective)
    for term in objective.terms:
        for kind, name in ((Stability, "stability"), (MACER, "macer"), (MeanSquared, "mse")):
            if isinstance(term, kind):
                return (None if attack else name), term.lbd
    consistency = next((term for term in objective.terms if isinstance(term, Consistency)), None)
    if attack:
        if consistency:
            return "smoothadv+consistency", consistency.lbd
        # Table 5: the searched settings of CIFAR-10 at σ ≥ 0.5 have ε = 512/256, where the fixed one has ε = 1.
        best = dataset == "cifar10" and getattr(attack, "epsilon", 0) > 1.5
        return ("smoothadv-best" if best else "smoothadv"), None
    if consistency is None:
        return ("gaussian" if all(isinstance(term, CrossEntropy) for term in objective.terms) else None), None
    lbd, eta = consistency.lbd, consistency.eta
    return ("kl" if eta == 0 else "cross-entropy" if eta == lbd else "consistency"), lbd


def _later_method(objective: Objective) -> tuple[str | None, float | None]:
    """Of those that came after the paper; a mixture of them, or upon others, has no name."""
    kinds = {type(term) for term in objective.terms}
    if kinds == {CrossEntropy, SmoothMix} and not getattr(objective.attack, "moves_noise", False):
        return ("smoothmix-onestep" if objective.attack else "smoothmix"), None
    if kinds == {CatRS} and objective.attack is None:
        return "cat-rs", next(term.lbd for term in objective.terms if isinstance(term, CatRS))
    return None, None
