"""What was trained and how it was smoothed, as far as a log tells: by its recipe, or else by its path."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from smoothcert.analysis.published import Setting, setting_of_path
from smoothcert.analysis.results import Results

__all__ = ["Setting", "panel_of", "recipe_setting", "setting_of"]


def setting_of(results: Results) -> Setting:
    """From the header's recipe; a TSV log says it, if at all, in its file's and folders' names (see `published`)."""
    noise = results.about.get("noise")
    sigma = noise.get("sigma") if isinstance(noise, dict) else None
    recipe = results.about.get("recipe")
    if isinstance(recipe, dict) and isinstance(recipe.get("objective"), dict):
        return recipe_setting(recipe, sigma)
    if results.about:
        data = results.about.get("data")
        return Setting(data.get("name") if isinstance(data, dict) else None, sigma=sigma)
    return setting_of_path(results.path.absolute() if results.path else PurePath(results.name))


def recipe_setting(recipe: dict[str, Any], sigma: float | None) -> Setting:
    """Of a recipe as files hold it, certified under Gaussian noise of this σ."""
    objective = recipe["objective"]
    method, lbd = _method(objective, recipe.get("data"))
    m, eta = objective.get("m", 1), _eta(objective)
    return Setting(recipe.get("data"), recipe.get("model"), method, sigma, lbd, m, eta)


def panel_of(results: Results) -> tuple[str, float | None]:
    """Data set and scale of the noise: logs that share both belong into one panel."""
    setting, noise = setting_of(results), results.about.get("noise")
    kind = noise.get("kind", "gaussian") if isinstance(noise, dict) else "gaussian"
    name = setting.dataset or "unknown data"
    if kind == "gaussian":
        return name, setting.sigma
    scale = next((v for k, v in noise.items() if k != "kind"), None) if isinstance(noise, dict) else None
    return f"{name}, {kind}", scale


def _eta(objective: dict[str, Any]) -> float | None:
    terms = (t for t in objective.get("terms", []) if isinstance(t, dict) and t.get("kind") == "consistency")
    return next((t.get("eta", 0.5) for t in terms), None)


def _method(objective: dict[str, Any], dataset: Any) -> tuple[str | None, float | None]:
    """The method's name in the tables, and its λ."""
    terms = {t.get("kind"): t for t in objective.get("terms", []) if isinstance(t, dict)}
    attack = objective.get("attack")
    for kind, name in (("stability", "stability"), ("macer", "macer"), ("mean_squared", "mse")):
        if kind in terms:
            return (None if attack else name), terms[kind].get("lbd")
    term = terms.get("consistency")
    if attack:
        # Table 5: the searched settings of CIFAR-10 at σ ≥ 0.5 have ε = 512/256, where the fixed one has ε = 1.
        best = dataset == "cifar10" and attack.get("epsilon", 0) > 1.5
        return ("smoothadv+consistency", term.get("lbd")) if term else ("smoothadv-best" if best else "smoothadv", None)
    if term is None:
        return ("gaussian" if set(terms) == {"cross_entropy"} else None), None
    lbd, eta = term.get("lbd"), term.get("eta", 0.5)
    return ("kl" if eta == 0 else "cross-entropy" if eta == lbd else "consistency"), lbd
