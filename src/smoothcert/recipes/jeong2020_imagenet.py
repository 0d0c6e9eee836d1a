"""Table 2 of Jeong & Shin (2020): ImageNet, ResNet-50; SmoothAdv with its best settings of table 5.

The printed SmoothAdv rows are certifications of models that Salman et al. released: the recipes follow their trainer.
"""

from __future__ import annotations

from smoothcert.recipes.jeong2020 import RecipeTable, in_both_ways
from smoothcert.recipes.recipe import Recipe


def table2(code: bool) -> dict[str, Recipe]:
    t = RecipeTable(code, "imagenet", "imagenet_resnet50", epochs=90, lr=0.1, every=30, batch=200)
    return {
        "imagenet/gaussian/0.50": t.gaussian(0.5),
        "imagenet/gaussian/1.00": t.gaussian(1.0),
        "imagenet/consistency/0.50": t.consistency(0.5, lbd=5.0),
        "imagenet/consistency/1.00": t.consistency(1.0, lbd=5.0, eta=0.1),
        "imagenet/smoothadv/0.50": t.smoothadv(0.5, m=1, steps=1),
        "imagenet/smoothadv/1.00": t.smoothadv(1.0, m=1, epsilon=512, steps=1),
    }


RECIPES = in_both_ways(table2)
