"""Table 6 of Jeong & Shin (2020): MNIST, LeNet. MACER's robust term waits for the first decay of the learning rate."""

from __future__ import annotations

from smoothcert.recipes.jeong2020 import RecipeTable, in_both_ways
from smoothcert.recipes.recipe import Recipe


def mnist(code: bool) -> RecipeTable:
    return RecipeTable(code, "mnist", "lenet", epochs=90, lr=0.01, every=30)


def table6(code: bool) -> dict[str, Recipe]:
    t = mnist(code)
    return {
        "mnist/gaussian/0.25": t.gaussian(0.25),
        "mnist/gaussian/0.50": t.gaussian(0.5),
        "mnist/gaussian/1.00": t.gaussian(1.0),
        "mnist/consistency/0.25": t.consistency(0.25, lbd=10.0),
        "mnist/consistency/0.50": t.consistency(0.5, lbd=5.0),
        "mnist/consistency/1.00": t.consistency(1.0, lbd=5.0),
        "mnist/smoothadv/0.25": t.smoothadv(0.25, m=4),
        "mnist/smoothadv/0.50": t.smoothadv(0.5, m=4),
        "mnist/smoothadv/1.00": t.smoothadv(1.0, m=4),
        "mnist/smoothadv+consistency/0.25": t.smoothadv_consistency(0.25, lbd=1.0, m=4),
        "mnist/smoothadv+consistency/0.50": t.smoothadv_consistency(0.5, lbd=1.0, m=4),
        "mnist/smoothadv+consistency/1.00": t.smoothadv_consistency(1.0, lbd=1.0, m=4),
        "mnist/stability/0.25": t.stability(0.25),
        "mnist/stability/0.50": t.stability(0.5),
        "mnist/stability/1.00": t.stability(1.0),
        "mnist/macer/0.25": t.macer(0.25, lbd=16.0, start=31),
        "mnist/macer/0.50": t.macer(0.5, lbd=16.0, start=31),
        "mnist/macer/1.00": t.macer(1.0, lbd=6.0, start=31),
    }


RECIPES = in_both_ways(table6)
