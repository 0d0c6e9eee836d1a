"""Code of one's own that votes: a run's network and its noise."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError, Notice
from smoothcert.files.source import is_spec, sha256_of
from smoothcert.noise import Noise
from smoothcert.recipes.serialize import kind_of
from smoothcert.recipes.source import Source
from smoothcert.recipes.structure import structure


def require_trained(file: Path, about: dict[str, Any], name: Any) -> None:
    """Before the code that a run names is imported: `train` wrote its hash. If it is another now, that is said aloud.

    A run without the hash is nobody's training, and what it names is not imported.
    """
    if not is_spec(name):
        return
    recipe, module = about.get("recipe"), name.partition(":")[0]
    said = recipe.get("sources") if isinstance(recipe, dict) else None
    trained: tuple[Source, ...] = structure(tuple[Source, ...], said or (), f"{file}: sources", {})
    then = {source.module: source.sha256 for source in trained}
    if module not in then:
        raise InputError(f"{file}: names {name}, and no hash of its source: no training of ours wrote that")
    try:
        now = sha256_of(module)
    except InputError as error:
        raise InputError(f"{file}: needs {name}: {error}") from error
    if now != then[module]:
        warnings.warn(f"{file}: {module} has changed since {name} was trained", Notice, stacklevel=2)


def sources_of(model: str, noise: Noise) -> dict[str, Any]:
    """What a certificate says of code of one's own: {"sources": {module: SHA-256}}, or nothing where there is none."""
    modules = sorted({name.partition(":")[0] for name in (model, kind_of(noise)) if is_spec(name)})
    return {"sources": {module: sha256_of(module) for module in modules}} if modules else {}
