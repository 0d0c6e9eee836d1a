"""f put together from parts, as one f."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.models import Denoised, Ensemble, Mirrored
from smoothcert.models.denoised import UNIT
from smoothcert.models.network import declared


@dataclass(frozen=True)
class Part:
    """A network in its final form, or several as one, with what a certificate says of it."""

    f: Callable[..., Tensor]
    name: str
    """as a log's file name has it"""
    about: dict[str, Any]
    """name, variant and sha256 at least"""
    range: tuple[float, float] = UNIT
    """of a denoiser's images"""


def composed(classifiers: Sequence[Part], denoiser: Part | None, sigma: float, mirror: bool) -> Part:
    """mirrored(Σᵢ classifierᵢ ∘ denoiser): the denoiser is asked once for all classifiers; the mirror comes last.

    All is one f with one SHA-256: that of a line "ROLE SHA-256 how it is computed" for each part in its order, followed
    by normalization, schedule and range where a part has one, and of the line "mirror". So another part, or another way
    to put them together, is another f, and no log is continued with it.
    """
    parts, first = [("classifier", each) for each in classifiers], classifiers[0]
    f, name, words = first.f, "+".join(each.name for each in classifiers), " + ".join(_named(e) for e in classifiers)
    if len(classifiers) > 1:
        f = Ensemble([each.f for each in classifiers])
    if denoiser is not None:
        parts.append(("denoiser", denoiser))
        f = Denoised(denoiser.f, f, sigma, denoiser.range)
        name, words = f"{name}-behind-{denoiser.name}", f"{words} behind {_named(denoiser)}"
    if mirror:
        if str(first.about["name"]).endswith("+mirror"):
            raise InputError(f"{first.name}: was trained with its mirror image already: leave --mirror out")
        f, name, words = Mirrored(f), f"{name}-mirrored", f"{words}, mirrored"
    assert isinstance(f, nn.Module)
    lines = [f"{role} {_identity(part)}\n" for role, part in parts] + ["mirror\n"] * mirror
    sources = {module: sha for _, part in parts for module, sha in part.about.get("sources", {}).items()}
    about = {
        "name": words,
        "variant": f.variant,
        "sha256": hashlib.sha256("".join(lines).encode()).hexdigest(),
        "passes_per_vote": declared(f).passes_per_vote,
        "parts": [{"role": role} | part.about | _told(part) for role, part in parts],
        **({"mirror": True} if mirror else {}),
        **({"sources": dict(sorted(sources.items()))} if sources else {}),
    }
    return Part(f.eval(), name, about)


def _named(part: Part) -> str:
    return str(part.about["name"])


def _identity(part: Part) -> str:
    words = [str(part.about[key]) for key in ("sha256", "variant", "normalization", "schedule") if key in part.about]
    return " ".join(words + [repr(end) for end in part.range if part.range != UNIT])


def _told(part: Part) -> dict[str, Any]:
    return {} if part.range == UNIT else {"range": list(part.range)}
