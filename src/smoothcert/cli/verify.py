"""smoothcert verify"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.model import Model
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.certification.recompute import Recomputed
    from smoothcert.certification.verify import Verification


@dataclass(frozen=True)
class Verify:
    """Compute every certificate of a log again from its votes, without the model; exits with 1 if one does not follow.

    Catches an edited radius, count, class, n, alpha or noise, missing images, and a header that contradicts its recipe;
    a header or row that cannot be, or a log that was changed after it was finished, is refused. Whether the model
    really cast these votes, and the labels are the data set's, --recompute can tell: it draws a few rows again.

    Example: smoothcert verify runs/my-run --model runs/my-run --recompute 20
    """

    logs: Positional[tuple[Path, ...]]
    """run folders or certification logs"""
    public_key: Path | None = None
    """also the owner of this key must have signed each log (see `smoothcert sign`)"""
    model: str | None = None
    """the certified run folder or model, for --recompute"""
    recompute: int | None = None
    """draw so many randomly chosen rows again, such as 20, from model, data and seed"""
    recompute_seed: int | None = None
    """decides which rows (default: the system, so that nobody can know them before)"""
    json: bool = False
    """print one JSON document, a list with an object per log"""
    others: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.certification.verify import verify
        from smoothcert.cli.display import print_json

        if not self.logs:
            raise InputError("name at least one run folder or log")
        if (self.model is None) != (self.recompute is None):
            raise InputError("--model and --recompute belong together: which model, and how many rows")
        if self.recompute is None and self.recompute_seed is not None:
            raise InputError("--recompute-seed is for --recompute")
        good, listed, noise = True, [], self.others.chosen_noise()
        for path in self.logs:
            one = verify(path, self.public_key, None if noise == "grid" else noise)
            again = None if self.model is None or one.problems else self._again(path, self.model)
            good = good and not one.problems and not (again and again.problems)
            if self.json:
                listed.append(_as_dict(one, again))
            else:
                _as_text(one, again)
        if self.json:
            print_json(listed)
        if not good:
            sys.exit(1)

    def _again(self, path: Path, model: str) -> Recomputed:
        from smoothcert.certification.recompute import recompute

        options = self.others.options(self.machine)
        return recompute(path, model, self.recompute or 0, self.recompute_seed, **options)


def _as_dict(one: Verification, again: Recomputed | None) -> dict[str, Any]:
    found = [*one.problems, *(again.problems if again else ())]
    said = asdict(one) | {"path": str(one.path), "problems": [{"index": i, "problem": what} for i, what in found]}
    if again is not None:
        caught = [{"forged_share": share, "caught_with_probability": p} for share, p in again.caught.items()]
        said["recomputed"] = {key: value for key, value in asdict(again).items() if key != "problems"}
        said["recomputed"] |= {"caught": caught}
    return said


def _as_text(one: Verification, again: Recomputed | None) -> None:
    for index, what in (*one.problems, *(again.problems if again else ())):
        print(f"{one.path}: {what}" if index is None else f"{one.path}: image {index}: {what}")
    wrong = sum(index is not None for index, _ in one.problems)
    said = f"{wrong} of {one.rows} certificates do not follow" if wrong else f"{one.rows} certificates all follow"
    facts = [f"{one.procedure}, {one.bound} bound, {one.votes:,} votes"]
    facts += ["closing row fits" if one.closed else "without closing row"]
    facts += {"public": [], "secret": ["seed still secret"], "revealed": ["revealed seed fits its commitment"]}[
        one.seed
    ]
    facts += [f"certified with {what}" for what in one.changed] + ["signature fits"] * one.signed
    print(f"{one.path}  {said}{'' if wrong else ' from their votes'}  ({'; '.join(facts)})")
    if again is None:
        return
    rows = len(again.indices)
    moved = "none" if again.moved == 0 else f"{again.moved:,}"
    bad = len({index for index, _ in again.problems})
    said = f"{bad} of {rows} recomputed rows are FORGED or of another machine" if bad else f"{rows} rows recomputed"
    print(f"{one.path}  {said}: of {again.votes:,} votes {moved} differ")
    (share, first), *others = ((f"{100 * share:g} %", f"{100 * p:.0f} %") for share, p in again.caught.items())
    rest = ", ".join(f"{share}: {p}" for share, p in others)
    print(f"  if {share} of the rows were forged, {rows} recomputed rows catch it with probability {first} ({rest})")
