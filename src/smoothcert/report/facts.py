"""What a log's certificates rest on, fact by fact, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from smoothcert.analysis.results import Results
from smoothcert.analysis.tables import floored
from smoothcert.noise import GridNoise
from smoothcert.procedures.budget import Budgeted
from smoothcert.recipes.unopened import Unopened
from smoothcert.records.header import Header
from smoothcert.report.check import Check
from smoothcert.report.plain_name import plain_name, without_folders

_LAWS = {"Gaussian": "Gaussian, σ", "Laplace": "Laplace, b", "Uniform": "uniform, w"}
_PROCEDURES = {"paper": "CERTIFY", "curve": "curve (radii of a grid)", "adaptive": "adaptive", "budget": "budget"}
_VERSIONS = {"smoothcert": "smoothcert", "python": "Python", "torch": "torch", "numpy": "NumPy", "scipy": "SciPy"}


@dataclass(frozen=True)
class Fact:
    term: str
    """of the glossary"""
    words: str
    code: bool = False
    """a digest: may be broken anywhere"""


def facts_of(results: Results, check: Check) -> list[Fact]:
    """In the order in which one asks for them; a TSV log has few."""
    header = results.header
    found = [*_statistics(header), *_images(header), *_model(header), *_circumstances(results.environment, header)]
    if check.verification is not None and check.verification.changed:
        found.append(Fact("changed", without_folders("; ".join(check.verification.changed))))
    if results.path is not None:
        found.append(Fact("file", results.path.name))
    return found


def _statistics(header: Header) -> Iterator[Fact]:
    yield Fact("norm", header.norm if header.noise else f"{header.norm} (assumed: the log does not say)")
    if header.noise is not None:
        grid = isinstance(header.noise, GridNoise)
        noise: object = header.noise
        law = noise.kind if isinstance(noise, Unopened) else type(noise).__name__.removeprefix("Grid")
        words = f"{_LAWS.get(law, f'{law}, scale')} = {header.noise.scale:g}"
        yield Fact("grid" if grid else "noise", f"{words}, exact on the 8-bit grid" if grid else f"{words}, in floats")
    if header.procedure is None:
        return
    yield Fact("alpha", f"{header.alpha:g} for each image")
    if isinstance(header.procedure, Budgeted):
        fewest, most = min(header.procedure.plan), max(header.procedure.plan)
        yield Fact(
            "budget", f"{header.procedure.budget:,} votes; {fewest:,} to {most:,} an image after n₀ = {header.n0:,}"
        )
    else:
        yield Fact(
            "n", f"{header.n:,}" + (f" after n₀ = {header.n0:,}" if header.n0 else "") if header.n else "any number"
        )
    aware = header.procedure.label_aware
    how = [_PROCEDURES.get(header.procedure.name, header.procedure.name), f"{header.bound} bound"]
    yield Fact("procedure", ", ".join([*how, "label-aware"] if aware else how))
    if header.largest_radius is not None:
        yield Fact("largest", floored(header.largest_radius, 3))


def _images(header: Header) -> Iterator[Fact]:
    data, chosen = header.data, header.selection
    if data is None:
        return
    which = [f"{header.selected:,} of {data.images:,}" if header.selected is not None else f"of {data.images:,}"]
    if chosen is not None and chosen.every > 1:
        which.append(f"every {_ordinal(chosen.every)}")
    if chosen is not None and (chosen.start, chosen.stop) != (0, None):
        which.append(f"from {chosen.start:,} to {chosen.stop or data.images:,}")
    yield Fact("data", f"{plain_name(data.name)}, {data.split}: {', '.join(which)}")
    yield Fact("fingerprint", data.fingerprint, code=True)


def _model(header: Header) -> Iterator[Fact]:
    if header.model is None:
        return
    variant = header.model.variant
    yield Fact("model", plain_name(header.model.name) + (f" ({variant})" if variant else ""))
    if header.model.sha256:
        yield Fact("sha256", header.model.sha256, code=True)
    yield Fact("precision", header.precision + (f", on {header.device}" if header.device else ""))


def _circumstances(environment: Any, header: Header) -> Iterator[Fact]:
    if header.seed is not None:
        yield Fact("seed", str(header.seed))
    elif header.seed_commitment is not None:
        yield Fact("commitment", header.seed_commitment, code=True)
    if isinstance(started := environment.get("started"), str):
        yield Fact("date", started.replace("T", " ").replace("Z", " UTC"))
    versions = [f"{word} {v}" for key, word in _VERSIONS.items() if isinstance(v := environment.get(key), str)]
    if versions:
        yield Fact("versions", ", ".join(versions))


def _ordinal(k: int) -> str:
    """2nd, 3rd, 11th, 21st"""
    ending = "th" if k // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k:,}{ending}"
