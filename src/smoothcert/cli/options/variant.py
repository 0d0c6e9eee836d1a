"""Options that make a variant of a recipe, shared by the commands that take one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tyro.conf import UseAppendAction

if TYPE_CHECKING:
    from smoothcert.recipes import Certification, Recipe


@dataclass(frozen=True)
class Variant:
    """A recipe with single values changed, or with a fraction of the work."""

    set: UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """values to change, such as lr=0.02 objective.lbd=10 (`smoothcert show RECIPE` has them all)"""
    scale: float = 1.0
    """fraction of the epochs (and of images and votes where it certifies): a quick look, marked as reduced"""

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(setting for given in self.set for setting in given)

    def of(self, recipe: Recipe) -> Recipe:
        from smoothcert.recipes import override, reduced_recipe

        return reduced_recipe(override(recipe, self.settings), self.scale)

    def certification_of(self, recipe: Recipe) -> Certification:
        """As the paper certifies on this data set, or a fraction of it."""
        from smoothcert.reproduction.plan import certification_for

        return certification_for(recipe, self.scale)

    def run_name(self, recipe: str, seed: int) -> str:
        """mnist/gaussian/0.50 → mnist-gaussian-0.50-seed0; a variant says so."""
        from smoothcert.reproduction.plan import run_name

        return run_name(recipe, seed, self.settings, self.scale)
