"""Code of one's own that votes: a network and a noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files.source import is_spec, sha256_of, sha256_on_disk
from smoothcert.noise import Noise
from smoothcert.recipes.serialize import kind_of
from smoothcert.recipes.source import Source
from smoothcert.recipes.structure import structure

_NOT_CODE = ("timm", "torchvision")  # before a name of theirs, which reads like a module's


def require_trained(file: Path, about: dict[str, Any], name: Any, trust: bool) -> None:
    """Before the code that a run names is imported: it must be what `train` hashed, unless its user trusts it.

    A run folder may be anybody's. Without the hash it is nobody's training; with another one it is other code.
    """
    if not is_spec(name):
        return
    recipe, module = about.get("recipe"), name.partition(":")[0]
    said = recipe.get("sources") if isinstance(recipe, dict) else None
    trained: tuple[Source, ...] = structure(tuple[Source, ...], said or (), f"{file}: sources", {})
    then = {source.module: source.sha256 for source in trained}
    if module not in then:
        raise InputError(f"{file}: names {name}, and no hash of its source: no training of ours wrote that")
    if trust:
        return
    try:
        now = sha256_on_disk(module)
    except InputError as error:
        raise InputError(f"{file}: needs {name}: {error}") from error
    if now != then[module]:
        raise InputError(
            f"{file}: {module} has changed since {name} was trained: bring its source back, or give --trust"
        )


def sources_of(model: str, noise: Noise) -> dict[str, Any]:
    """What a certificate says of code of one's own: {"sources": {module: SHA-256}}, or nothing where there is none."""
    names = (model, kind_of(noise))
    modules = sorted({name.partition(":")[0] for name in names if is_spec(name)}.difference(_NOT_CODE))
    return {"sources": {module: sha256_of(module) for module in modules}} if modules else {}
