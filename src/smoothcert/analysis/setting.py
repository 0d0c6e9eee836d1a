"""What was trained and how it was smoothed, as far as a log tells: by its recipe, or else by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from smoothcert.analysis.results import Results


@dataclass(frozen=True)
class Setting:
    """The words by which the paper's tables tell their rows apart; None where the log does not say."""

    dataset: str | None = None
    network: str | None = None
    method: str | None = None
    sigma: float | None = None
    lbd: float | None = None
    m: int | None = None


def setting_of(results: Results) -> Setting:
    """From the header's recipe; a TSV log says it, if at all, in its name (as the published ones do)."""
    noise = results.about.get("noise")
    sigma = noise.get("sigma") if isinstance(noise, dict) else None
    recipe = results.about.get("recipe")
    if isinstance(recipe, dict) and isinstance(recipe.get("objective"), dict):
        return recipe_setting(recipe, sigma)
    if results.about:
        data = results.about.get("data")
        return Setting(data.get("name") if isinstance(data, dict) else None, sigma=sigma)
    return _from_name(results.name)


def recipe_setting(recipe: dict[str, Any], sigma: float | None) -> Setting:
    """Of a recipe as files hold it, certified under Gaussian noise of this σ."""
    objective = recipe["objective"]
    method, lbd = _method(objective, recipe.get("data"))
    return Setting(recipe.get("data"), recipe.get("model"), method, sigma, lbd, objective.get("m", 1))


def panel_of(results: Results) -> tuple[str, float | None]:
    """Data set and scale of the noise: logs that share both belong into one panel."""
    setting, noise = setting_of(results), results.about.get("noise")
    kind = noise.get("kind", "gaussian") if isinstance(noise, dict) else "gaussian"
    name = setting.dataset or "unknown data"
    if kind == "gaussian":
        return name, setting.sigma
    scale = next((v for k, v in noise.items() if k != "kind"), None) if isinstance(noise, dict) else None
    return f"{name}, {kind}", scale


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


def _from_name(name: str) -> Setting:
    words = name.lower()
    dataset = _word(words, "mnist", "cifar10", "imagenet")
    network = _word(words, "resnet110", "resnet20", "resnet50", "densenet40")
    if network is not None:
        network = f"imagenet_{network}" if network == "resnet50" else f"cifar_{network}"
    elif dataset == "mnist":
        network = "lenet"
    methods = [w for w in ("smoothadv", "consistency", "stability", "macer", "gaussian") if w in words]
    method = methods[0] if len(methods) == 1 else "+".join(methods) or None
    m = _number(words, "m")
    default = 2 if method == "consistency" else None
    return Setting(
        dataset,
        network,
        method,
        _number(words, "sigma"),
        _number(words, "lambda"),
        int(m) if m is not None else default,
    )


def _word(text: str, *words: str) -> str | None:
    return next((w for w in words if re.search(rf"(?<![a-z0-9]){w}(?![a-z0-9])", text)), None)


def _number(text: str, word: str) -> float | None:
    """The number behind a word, as in lambda5 or sigma_0.50."""
    found = re.search(rf"(?<![a-z]){word}[_=-]?(\d+(?:\.\d+)?)", text)
    return float(found[1]) if found else None
