"""Options that make a variant of a recipe, shared by the commands that take one."""

from __future__ import annotations

import hashlib
import re
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
        from smoothcert.recipes import override, scaled

        return scaled(override(recipe, self.settings), self.scale)

    def certification_of(self, recipe: Recipe) -> Certification:
        """As the paper certifies on this data set, or a fraction of it."""
        from smoothcert.recipes import certification_of, scaled_certification
        from smoothcert.recipes.cost import TEST_IMAGES

        return scaled_certification(certification_of(recipe.data), self.scale, TEST_IMAGES.get(recipe.data, 10_000))

    def run_name(self, recipe: str, seed: int) -> str:
        """mnist/gaussian/0.50 → mnist-gaussian-0.50-seed0; a variant says so, for tables show runs by this name."""
        name = recipe.replace("/", "-")
        changed = "".join(f"+{setting}" for setting in self.settings)
        if len(changed) > 80:
            changed = f"+changed-{hashlib.sha256(changed.encode()).hexdigest()[:8]}"
        changed = re.sub(r"[^\w.+=-]", "_", changed)
        reduced = f"-reduced{self.scale:g}" if self.scale != 1 else ""
        return f"{name}{changed}{reduced}-seed{seed}"
