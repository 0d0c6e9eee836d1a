"""Fashion-MNIST as MNIST is trained in table 6 of Jeong & Shin (2020), who lack it: LeNet, the same schedule and λ.

Jeong et al. (2023) print an ACR of .744 / 1.212 / 1.491 for Consistency there, at σ = .25 / .5 / 1.
"""

from __future__ import annotations

from smoothcert.recipes.jeong2020 import RecipeTable

_T = RecipeTable(True, "fashion_mnist", "lenet", epochs=90, lr=0.01, every=30)

RECIPES = {
    "fashion-mnist/gaussian/0.25": _T.gaussian(0.25),
    "fashion-mnist/gaussian/0.50": _T.gaussian(0.5),
    "fashion-mnist/gaussian/1.00": _T.gaussian(1.0),
    "fashion-mnist/consistency/0.25": _T.consistency(0.25, lbd=10.0),
    "fashion-mnist/consistency/0.50": _T.consistency(0.5, lbd=5.0),
    "fashion-mnist/consistency/1.00": _T.consistency(1.0, lbd=5.0),
}
