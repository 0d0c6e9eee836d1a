"""smoothcert check"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.analysis.gate import AtLeast, NoWorse


@dataclass(frozen=True)
class Check:
    """A gate for CI: exits with 0 if the log proves what is required, with 1 if it does not, with 2 on bad input.

    --at-least: the lower confidence bound of the robust accuracy at the radius must reach it. --compare: on the images
    of both logs, the lower confidence bound of the difference must not be below minus the margin; of certified accuracy
    at --radius, or of the ACR without. Given both, both must hold. A selected image that the log lacks counts as not
    certified. What is required but does not hold passes with probability 1 − confidence at most.

    Example: smoothcert check runs/my-run --radius 0.5 --at-least 0.90
    """

    log: Positional[Path]
    """run folder or certification log"""
    radius: float | None = None
    """at which images must be certified"""
    at_least: float | None = None
    """share of the images, such as 0.9"""
    confidence: float = 0.95
    """of the bounds, one-sided"""
    of: Literal["population", "images"] = "population"
    """what --at-least is about: all images like these, or these alone"""
    compare: Path | None = None
    """baseline, a run folder or log: no worse than this one"""
    margin: float = 0.01
    """of --compare: how much worse it may be, a share of the images, or a radius for the ACR"""
    json: bool = False
    """print one JSON document"""

    def __call__(self) -> None:
        from smoothcert.analysis import read_results
        from smoothcert.analysis.gate import at_least, no_worse
        from smoothcert.cli.display import print_json

        if self.at_least is None and self.compare is None:
            raise InputError("check what? give --radius and --at-least, or --compare BASELINE")
        _require_proved(self.log)
        if self.compare is not None:
            _require_proved(self.compare)
        results, level = read_results(self.log), self.confidence
        required = beside = None
        if self.at_least is not None:
            if self.radius is None:
                raise InputError("--at-least is a share of the images at a radius: name it with --radius")
            required = at_least(results, self.radius, self.at_least, level, self.of)
        if self.compare is not None:
            beside = no_worse(results, read_results(self.compare), self.radius, self.margin, level)
        holds = all(found.holds for found in (required, beside) if found is not None)
        if self.json:
            about = {"log": str(self.log), "holds": holds, "confidence": level, "at_least": None, "compare": None}
            if required is not None:
                about["at_least"] = {**asdict(required), "holds": required.holds}
            if beside is not None:
                about["compare"] = {"baseline": str(self.compare), **asdict(beside), "holds": beside.holds}
            print_json(about)
        else:
            said = [*([_required(required)] if required else []), *([_beside(beside, self.compare)] if beside else [])]
            word = "holds" if holds else "FALLS SHORT"
            print(f"{self.log}  {word}: {'; '.join(said)}  (confidence {100 * level:.10g} %)")
        if not holds:
            sys.exit(1)


def _require_proved(log: Path) -> None:
    """Every row must follow from its votes; images that are missing count as not certified. TSV logs hold no votes."""
    from smoothcert.analysis import read_results
    from smoothcert.certification.verify import verify

    if not read_results(log).header.stated:
        return
    wrong = [what for index, what in verify(log).problems if index is not None or not what.endswith("INCOMPLETE")]
    if wrong:
        raise InputError(f"{log}: proves nothing: {wrong[0]} (see `smoothcert verify`)")


def _required(found: AtLeast) -> str:
    from smoothcert.analysis.tables import floored, radius_name

    whose = "the population's" if found.of == "population" else "these images'"
    lacking = f", {found.missing:,} missing" if found.missing else ""
    return (
        f"{whose} robust accuracy at radius {radius_name(found.radius)} is at least {floored(100 * found.bound, 2)} %, "
        f"required {100 * found.required:.10g} % ({found.certified:,} of {found.images:,} images certified{lacking})"
    )


def _beside(found: NoWorse, baseline: Path | None) -> str:
    from smoothcert.analysis.tables import floored, radius_name

    what = "ACR" if found.radius is None else f"certified accuracy at radius {radius_name(found.radius)}"
    lacking = f", {found.missing:,} missing" if found.missing else ""
    return (
        f"{what} minus that of {baseline} is {found.difference:+.4f}, at least {floored(found.bound, 4)}, "
        f"required {-found.margin:.10g} ({found.images:,} images of both{lacking})"
    )
