"""In what a certification did less than the paper: fewer epochs, images or votes."""

from __future__ import annotations

from smoothcert.analysis.printed import rows_for
from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import setting_of
from smoothcert.procedures.budget import Budgeted
from smoothcert.recipes import find_recipe
from smoothcert.recipes.certification import Certification, certification_of
from smoothcert.recipes.estimate import TEST_IMAGES


def reductions(results: Results) -> list[str]:
    """All of it, in words: a number with any of these is marked as reduced."""
    found = (_fewer_epochs(results), _fewer_images(results), _fewer_votes(results))
    return [words for words in found if words]


def is_reduced_run(results: Results) -> bool:
    """Trained or voted less, so that other radii must be expected. Fewer images only widen an interval."""
    return bool(_fewer_epochs(results) or _fewer_votes(results))


def paper_images(data: str) -> int | None:
    """How many test images the paper certifies of this data set."""
    images = TEST_IMAGES.get(data)
    return None if images is None else images // certification_of(data).every


def _fewer_epochs(results: Results) -> str | None:
    recipe = results.header.recipe
    if recipe is None:
        return None
    if recipe.reduced:  # how `--scale` marks a recipe; it names the epochs
        return recipe.reduced
    whole = min((find_recipe(row.recipes[0]).epochs for row in rows_for(results)), default=0)
    return f"{recipe.epochs} of {whole} epochs" if recipe.epochs < whole else None


def _fewer_images(results: Results) -> str | None:
    data = results.header.data
    whole = paper_images(setting_of(results).dataset or "") or (data and data.images)
    asked = results.header.selected or len(results)
    return f"{asked:,} of {whole:,} test images" if whole and asked < whole else None


def _fewer_votes(results: Results) -> str | None:
    procedure, whole = results.header.procedure, Certification.n
    n = max(procedure.plan) if isinstance(procedure, Budgeted) else results.header.n
    return f"{n:,} of {whole:,} votes" if n is not None and n < whole else None
