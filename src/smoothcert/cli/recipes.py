"""smoothcert recipes"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tyro.conf import Positional


@dataclass(frozen=True)
class Recipes:
    """List the recipes of the paper's tables and of our own, with the printed ACR and what they cost."""

    pattern: Positional[str] = ""
    """a name, a part of one, or a glob such as 'mnist/*/0.50'"""
    json: bool = False
    """print one JSON document, a list with an object per recipe"""

    def __call__(self) -> None:
        from smoothcert.cli.display import print_json, print_table
        from smoothcert.recipes import ALIASES, matching, real_name
        from smoothcert.recipes.estimate import MACHINE

        found = matching(self.pattern)
        entries = [describe(name) for name in dict.fromkeys(map(real_name, found))]
        if self.json:
            print_json(entries)
            return
        header = ["recipe", "data", "model", "noise", "m", "epochs", "paper ACR", "passes", "train h", "certify h"]
        print_table(header, [_cells(entry) for entry in entries])
        aliases = [name for name in found if name in ALIASES]
        if aliases:
            print()
            print_table(["also known as", "for"], [[name, ALIASES[name]] for name in aliases])
        if not any(entry["recipe"].endswith("/text") for entry in entries):
            print("\nrows of the paper train as its released code does, and NAME/text as its text says")
        print(f"passes: forward-backward, per image and epoch; hours: an estimate for {MACHINE}")


def describe(name: str) -> dict[str, Any]:
    """What is listed about one recipe."""
    from smoothcert.recipes import certification_of, find_recipe, published_acr
    from smoothcert.recipes.estimate import estimate

    recipe = find_recipe(name)
    return {
        "recipe": name,
        "data": recipe.data,
        "model": recipe.model,
        "noise": recipe.objective.law,
        "m": recipe.objective.m,
        "epochs": recipe.epochs,
        "paper": published_acr(name),
        "cost": asdict(estimate(recipe, certification_of(recipe.data))),
    }


def hours(value: float | None) -> str:
    """Two digits are more than an estimate has."""
    return "–" if value is None else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _cells(entry: dict[str, Any]) -> list[str]:
    cost = entry["cost"]
    printed = "/".join(dict.fromkeys(f"{acr:.3f}" for acr in entry["paper"].values())) or "–"
    keys = ("recipe", "data", "model", "noise", "m", "epochs")
    numbers = [str(cost["passes_per_image"]), hours(cost["training_hours"]), hours(cost["certification_hours"])]
    return [*(str(entry[key]) for key in keys), printed, *numbers]
