"""Tables 1, 4 and 11 of Jeong & Shin (2020): CIFAR-10, ResNet-110, ResNet-20 and DenseNet-40.

Table 1's one SmoothAdv row at σ = 0.25 has the best setting of table 5 (m = 4); the fixed setting has m = 8. Table 4
prints no λ for stability training: 2, the best at σ = 0.5 in table 11.

Some printed rows are certifications of models that others released, and their recipes train as those did:
- MACER in table 1 (`released_macer`), in both ways; but the text knows no late start of the robust term at σ = 1.
- `smoothadv-best`: models of Salman et al., whose trainer is also that of the paper's other plain SmoothAdv rows.
MACER in table 4 was trained by the paper's own code, on the schedule of all others.
"""

from __future__ import annotations

from dataclasses import replace

from smoothcert.recipes.jeong2020 import RecipeTable, in_both_ways
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import StepDecay


def cifar10(code: bool, model: str = "cifar_resnet110") -> RecipeTable:
    return RecipeTable(code, "cifar10", model, epochs=150, lr=0.1, every=50)


def released_macer(code: bool, sigma: float, lbd: float, start: int = 0) -> Recipe:
    """As MACER's authors trained the models they released: the rate falls in their epochs 200 and 400, from 1."""
    t = RecipeTable(code, "cifar10", "cifar_resnet110", epochs=440, lr=0.01, every=200, batch=64)
    recipe, decay = t.macer(sigma, lbd, start), StepDecay(t.every, late=-1)
    return replace(recipe, schedule=decay, nesterov=False, weight_decay=5e-4, normalization="none")


def table1(code: bool) -> dict[str, Recipe]:
    """ResNet-110 at three σ; the best settings of SmoothAdv are those of table 5."""
    t = cifar10(code)
    return {
        "cifar10/gaussian/0.25": t.gaussian(0.25),
        "cifar10/gaussian/0.50": t.gaussian(0.5),
        "cifar10/gaussian/1.00": t.gaussian(1.0),
        "cifar10/consistency-lbd10/0.25": t.consistency(0.25, lbd=10.0),
        "cifar10/consistency-lbd20/0.25": t.consistency(0.25, lbd=20.0),
        "cifar10/consistency/0.50": t.consistency(0.5, lbd=10.0),
        "cifar10/consistency-lbd5/1.00": t.consistency(1.0, lbd=5.0),
        "cifar10/consistency-lbd10/1.00": t.consistency(1.0, lbd=10.0),
        "cifar10/smoothadv/0.25": t.smoothadv(0.25, m=4),
        "cifar10/smoothadv/0.50": t.smoothadv(0.5, m=8),
        "cifar10/smoothadv/1.00": t.smoothadv(1.0, m=8),
        "cifar10/smoothadv-best/0.50": t.smoothadv(0.5, m=2, epsilon=512),
        "cifar10/smoothadv-best/1.00": t.smoothadv(1.0, m=2, epsilon=512),
        "cifar10/smoothadv+consistency/0.25": t.smoothadv_consistency(0.25, lbd=2.0, m=4),
        "cifar10/smoothadv+consistency/0.50": t.smoothadv_consistency(0.5, lbd=1.0, m=2, epsilon=512),
        "cifar10/smoothadv+consistency/1.00": t.smoothadv_consistency(1.0, lbd=1.0, m=2, epsilon=512),
        "cifar10/macer/0.25": released_macer(code, 0.25, lbd=12.0),
        "cifar10/macer/0.50": released_macer(code, 0.5, lbd=4.0),
        "cifar10/macer/1.00": released_macer(code, 1.0, lbd=12.0, start=50),
    }


def table4(code: bool) -> dict[str, Recipe]:
    """Smaller networks at σ = 0.5, with the settings found for ResNet-110."""
    rows: dict[str, Recipe] = {}
    for name, model in (("cifar10-resnet20", "cifar_resnet20"), ("cifar10-densenet40", "cifar_densenet40")):
        t = cifar10(code, model)
        rows |= {
            f"{name}/gaussian/0.50": t.gaussian(0.5),
            f"{name}/consistency/0.50": t.consistency(0.5, lbd=10.0),
            f"{name}/smoothadv/0.50": t.smoothadv(0.5, m=8),
            f"{name}/smoothadv-best/0.50": t.smoothadv(0.5, m=2, epsilon=512),
            f"{name}/stability/0.50": t.stability(0.5, lbd=2.0),
            f"{name}/macer/0.50": t.macer(0.5, lbd=4.0),
        }
    return rows


def table11(code: bool) -> dict[str, Recipe]:
    """Stability training by λ; the rows "5, 10, 20" are one line in print, for all three collapse to the same."""
    t, weights, sigmas = cifar10(code), (1, 2, 5, 10, 20), (0.25, 0.5, 1.0)
    return {f"cifar10/stability-lbd{lbd}/{s:.2f}": t.stability(s, float(lbd)) for s in sigmas for lbd in weights}


RECIPES = in_both_ways(lambda code: table1(code) | table4(code) | table11(code))
# Where the paper tries several λ, the plain name is the one with the largest ACR.
ALIASES = {
    "cifar10/consistency/0.25": "cifar10/consistency-lbd20/0.25",
    "cifar10/consistency/1.00": "cifar10/consistency-lbd10/1.00",
    "cifar10/stability/0.25": "cifar10/stability-lbd2/0.25",
    "cifar10/stability/0.50": "cifar10/stability-lbd2/0.50",
    "cifar10/stability/1.00": "cifar10/stability-lbd1/1.00",
}
