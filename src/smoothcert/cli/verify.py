"""smoothcert verify"""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Verify:
    """Compute every certificate of a log again from its votes, without the model; exits with 1 if one does not follow.

    Catches an edited radius, count, class, n, alpha or noise. Whether the model really cast these votes only
    certifying again can tell: the seed in the log decides them.
    """

    logs: Positional[tuple[Path, ...]]
    """run folders or certification logs"""
    json: bool = False
    """print one JSON object per log"""

    def __call__(self) -> None:
        from smoothcert.certification.verify import verify

        if not self.logs:
            raise InputError("name at least one run folder or log")
        found = [verify(path) for path in self.logs]
        for one in found:
            if self.json:
                problems = [{"index": index, "problem": what} for index, what in one.problems]
                print(jsonlib.dumps(asdict(one) | {"path": str(one.path), "problems": problems}))
                continue
            for index, what in one.problems:
                print(f"{one.path}: {'header' if index is None else f'image {index}'}: {what}")
            said = "do not follow" if one.problems else "all follow from their votes"
            bad = f"{len(one.problems)} of " if one.problems else ""
            kind = f"{one.procedure}, {one.bound} bound, {one.votes:,} votes"
            print(f"{one.path}  {bad}{one.rows} certificates {said}  ({kind})")
        if any(one.problems for one in found):
            sys.exit(1)
