"""The code of one's own that a recipe names, told by a hash: the name alone would not decide the trained model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from smoothcert.errors import InputError
from smoothcert.files.source import is_spec, sha256_of

if TYPE_CHECKING:
    from smoothcert.recipes.recipe import Recipe


@dataclass(frozen=True)
class Source:
    """A module, and the SHA-256 of its file; what it imports itself is not in it."""

    module: str
    sha256: str


def with_sources(recipe: Recipe) -> Recipe:
    """The recipe with a `Source` for each module that it names, which are imported.

    InputError where it has them already, and they are of other code.
    """
    from smoothcert.recipes.serialize import kind_of

    objective = recipe.objective
    parts = (objective.noise, *objective.terms, objective.attack, recipe.schedule)
    named = (recipe.model, *(kind_of(part) for part in parts if part is not None))
    names = [name for name in named if is_spec(name)]
    found = {module: sha256_of(module) for module in sorted({name.partition(":")[0] for name in names})}
    for source in recipe.sources or ():
        if found.get(source.module, source.sha256) != source.sha256:
            raise InputError(
                f"recipe: {source.module} has changed since the recipe was written: undo that, "
                "or take `sources` out of the recipe"
            )
    return replace(recipe, sources=tuple(Source(*each) for each in found.items()) or None)
