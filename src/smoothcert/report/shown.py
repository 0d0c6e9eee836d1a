"""What the page shows of one log: all that its template asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from smoothcert.analysis.beside_paper import BesidePaper, beside
from smoothcert.analysis.metrics import Summary, summarize
from smoothcert.analysis.printed import rows_for
from smoothcert.analysis.reduction import reductions
from smoothcert.analysis.results import Results
from smoothcert.noise import GridNoise
from smoothcert.report import chart
from smoothcert.report.check import Check, Seal
from smoothcert.report.claim import Claim
from smoothcert.report.command import certify_command
from smoothcert.report.data import about_training
from smoothcert.report.entry import Entry
from smoothcert.report.facts import Fact, facts_of
from smoothcert.report.plain_name import plain_name


@dataclass(frozen=True)
class Shown:
    """What the template shows of an entry, numbered from 1."""

    number: int
    results: Results
    summary: Summary
    reduced: list[str]
    beside: list[BesidePaper]
    training: dict[str, Any] | None
    rows: int
    claim: Claim
    check: Check

    @property
    def facts(self) -> list[Fact]:
        return facts_of(self.results, self.check)

    @property
    def seals(self) -> list[Seal]:
        return self.check.seals(self.summary.images, self.summary.selected)

    @property
    def command(self) -> str | None:
        return certify_command(self.results.header)

    @property
    def on_grid(self) -> bool:
        return isinstance(self.results.header.noise, GridNoise)

    @property
    def label_aware(self) -> bool:
        procedure = self.results.header.procedure
        return procedure is not None and procedure.label_aware

    @property
    def images_of(self) -> str:
        """mnist test, of a log that says it"""
        data = self.results.header.data
        return "" if data is None else f"{plain_name(data.name)} {data.split}"

    @property
    def look(self) -> str:
        return chart.look(self.number)

    @property
    def missing(self) -> int:
        """images asked for and not yet certified"""
        return max(0, (self.summary.selected or 0) - self.summary.images)


def shown_of(number: int, entry: Entry, radii: list[float], most: int, claim: Claim) -> Shown:
    """The numbers at these radii; of the log's rows at most `most` will be in the page."""
    results = entry.results
    printed = rows_for(results) if entry.paper is None else entry.paper
    recipe = results.header.recipe
    scaled = recipe is not None and recipe.reduced is not None
    return Shown(
        number,
        results,
        summarize(results, radii),
        reductions(results) if printed or scaled else [],  # less than what, if no paper printed it?
        [beside([results], row) for row in printed],
        about_training(entry.training, entry.hyperparameters),
        min(len(results), most),
        claim,
        entry.check,
    )
