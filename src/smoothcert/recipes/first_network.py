"""A network that is trained before the recipe's own, and votes on its training images."""

from __future__ import annotations

import re
from dataclasses import dataclass

from smoothcert.errors import InputError
from smoothcert.files.shown import shown

_MOST = 10**9
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FirstNetwork:
    """ŷ(x)_c = share of `votes` noise draws with argmax f₁(x + δ) = c, f₁ under the noise of its own training.

    The targets of CAT-RS [Jeong et al. 2023]; objectives that want votes need it. f₁ is trained on the same images as
    the recipe's own network and with the same seed.

    Args:
        recipe: name of the recipe of f₁, such as mnist/gaussian/0.25
        votes: noise draws for each training image; the authors have 10,000
        scale: fraction of the epochs of that recipe, as `--scale` has it
        sha256: of the weights, where f₁ is a finished run that was given; None: it is trained

    Example:
        >>> FirstNetwork("mnist/gaussian/0.25").votes
        10000
    """

    recipe: str
    votes: int = 10_000
    scale: float = 1.0
    sha256: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.votes <= _MOST:
            raise InputError(f"recipe.first: votes must be a number of noise draws, not {shown(self.votes)}")
        if not 0 < self.scale <= 1:
            raise InputError(f"recipe.first: scale is a fraction above 0 and up to 1, not {shown(self.scale)}")
        require_digest("recipe.first", self.sha256)


def require_digest(where: str, sha256: str | None) -> None:
    if sha256 is not None and not _DIGEST.fullmatch(sha256):
        raise InputError(f"{where}: sha256 must be 64 hexadecimal digits, not {shown(sha256)}")
