"""Init: the weights that a training starts from, where they are not those of its seed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from smoothcert.errors import InputError
from smoothcert.files.shown import shown
from smoothcert.recipes.first_network import require_digest


@dataclass(frozen=True)
class Init:
    """A recipe has it, so that a run folder says where it started, and other weights are another recipe."""

    name: str
    """of the run folder or the file, without the way to it; of a recipe where `sha256` is None"""
    sha256: str | None = None
    """as certificates of these weights have it; None: a run of the recipe `name` is still to be given"""
    passes: float | None = None
    """forward-backward passes an image that these weights took, and those that they started from; None: not known"""

    def __post_init__(self) -> None:
        require_digest("recipe.init", self.sha256)
        if self.passes is not None and not 0 <= self.passes < math.inf:
            raise InputError(f"recipe.init: passes must be a number of them, not {shown(self.passes)}")
