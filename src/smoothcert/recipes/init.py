"""Init: the weights that a training starts from, where they are not those of its seed."""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.recipes.first_network import require_digest


@dataclass(frozen=True)
class Init:
    """A recipe has it, so that a run folder says where it started, and other weights are another recipe."""

    name: str
    """of the run folder or the file, without the way to it"""
    sha256: str
    """as certificates of these weights have it"""

    def __post_init__(self) -> None:
        require_digest("recipe.init", self.sha256)
