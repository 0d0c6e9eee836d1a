"""In what a certification did less than the paper: fewer epochs, images or votes."""

from __future__ import annotations

from typing import Any

from smoothcert.analysis.printed import rows_for
from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import setting_of
from smoothcert.recipes import find

VOTES = 100_000
IMAGES = {"mnist": 10_000, "cifar10": 10_000, "imagenet": 500}


def reductions(results: Results) -> list[str]:
    """All of it, in words: a number with any of these is marked as reduced."""
    found = (_fewer_epochs(results), _fewer_images(results), _fewer_votes(results))
    return [words for words in found if words]


def is_reduced_run(results: Results) -> bool:
    """Trained or voted less, so that other radii must be expected. Fewer images only widen an interval."""
    return bool(_fewer_epochs(results) or _fewer_votes(results))


def _fewer_epochs(results: Results) -> str | None:
    recipe: Any = results.about.get("recipe")
    if not isinstance(recipe, dict):
        return None
    if isinstance(recipe.get("reduced"), str):  # how `--scale` marks a recipe; it names the epochs
        return recipe["reduced"]
    epochs, whole = recipe.get("epochs"), [find(row.recipes[0]).epochs for row in rows_for(results)]
    return f"{epochs} of {min(whole)} epochs" if whole and isinstance(epochs, int) and epochs < min(whole) else None


def _fewer_images(results: Results) -> str | None:
    data = results.about.get("data")
    whole = IMAGES.get(setting_of(results).dataset or "") or (data.get("images") if isinstance(data, dict) else None)
    asked = results.about.get("selected") or len(results)
    return f"{asked:,} of {whole:,} test images" if isinstance(whole, int) and asked < whole else None


def _fewer_votes(results: Results) -> str | None:
    n = results.about.get("n")
    return f"{n:,} of {VOTES:,} votes" if isinstance(n, int) and n < VOTES else None
