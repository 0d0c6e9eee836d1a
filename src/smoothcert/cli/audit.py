"""smoothcert audit"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.model import Model
from smoothcert.cli.options.progress import Progress

if TYPE_CHECKING:
    from smoothcert.audit.judgement import AuditVerdict


@dataclass(frozen=True)
class Audit:
    """Try to break the certificates of a log: attacks on the smoothed classifier inside and outside each radius.

    Soft attacks (EOT gradients under fresh noise, on the sphere and with adapted norm, with restarts) and random
    search on hard votes look for the nearest x' of another class; what they find is judged by fresh votes. A violation
    is an x' strictly inside the radius where another class is proved to have more votes (exact binomial test; all
    tests of an audit together err with probability 0.001). Each certificate may be wrong with probability alpha, so
    some violations are allowed: exits with 1 if as many have a probability below 0.001, with 0 otherwise. That nothing
    is found proves nothing; that much is found just outside shows that the attacks are strong.
    """

    run: Positional[str]
    """run folder, or a model: FILE.onnx, TorchScript, FILE.pt2, weights (FILE.pth.tar, .pt), package.module:factory,
    timm:NAME, torchvision:NAME"""
    own_images: Positional[str | None] = None
    """your own images that the log is about: as they were named to certify"""
    log: Path | None = None
    """its certification log (default: the run's)"""
    images: int | None = None
    """rows of the log, evenly spread, abstained ones included (default: all)"""
    votes: int = 10_000
    """fresh votes that judge a point"""
    steps: int = 30
    """of each gradient attack"""
    restarts: int = 4
    """of each gradient attack"""
    views: int = 16
    """noises per gradient"""
    box: bool = False
    """attack with images only: certificates also cover points outside the image range, so by default so do attacks"""
    seed: int = 0
    """decides the noise of search and judgement"""
    radius_factor: float = 1.0
    """pretend that every radius is this many times as large: can the audit win?"""
    out: Path | None = None
    """the audit's own log (default: audit.jsonl beside the certification log); called again, it goes on there"""
    json: bool = False
    """print one JSON document"""
    progress: Progress = "auto"
    model: str | None = None
    """package.module:factory that builds the network of a file of weights (state_dict)"""
    others: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.audit.audit_run import audit_run
        from smoothcert.cli.display import print_json, shown

        names = ("images", "votes", "steps", "restarts", "views", "box", "seed", "radius_factor")
        options = {name: getattr(self, name) for name in names}
        of_model = self.others.options(self.machine, self.own_images, self.model)
        work = audit_run(self.run, self.log, self.out, **options, **of_model)
        done = shown(work, f"audit {Path(self.run).name}", self.progress)
        found = done.verdict
        if self.json:
            about = {"run": self.run, "log": str(done.log), "radius_factor": self.radius_factor, "votes": self.votes}
            print_json(about | asdict(found) | {"sound": found.sound, "rows": done.rows})
        else:
            self._print(done.rows, found, done.noise.norm, done.out)
        if not found.sound:
            sys.exit(1)

    def _print(self, rows: Sequence[dict[str, Any]], found: AuditVerdict, norm: float, out: Path) -> None:
        from smoothcert.analysis.tables import floored
        from smoothcert.cli.display import print_table

        pretended = "" if self.radius_factor == 1 else f" ×{self.radius_factor:g} (pretended)"
        header = ["image", "class", f"radius{pretended}", "found at", "ratio", "tried", ""]
        print_table(header, [_cells(row, floored(row["radius"], 4)) for row in rows])
        print()
        if pretended:
            print(f"SELF-CHECK: every radius was pretended to be {self.radius_factor:g} times what is certified.")
        ratio = "" if found.median_ratio is None else f", at {found.median_ratio:.2f} times the radius in the median"
        least = "" if found.least_ratio is None else f" and {found.least_ratio:.2f} at least"
        print(
            f"{out}  {found.attacked} certificates attacked, {found.abstained} abstained  another class found for "
            f"{found.found}{ratio}{least}  {found.tried:,} points tried  (ℓ{norm:g}, {self.votes:,} votes each)"
        )
        v, allowed = len(found.violations), found.alpha * found.images
        said = "the certificates do not hold" if not found.sound else "no contradiction to alpha"
        print(
            f"{v} violation{'s' * (v != 1)} inside the radius: {said}  (up to {allowed:g} expected by chance, "
            f"alpha={found.alpha:g}, {found.images} images, p-value {found.p_value:.2g})"
        )


def _cells(row: dict[str, Any], radius: str) -> list[str]:
    at = row["found"]
    ratio = f"{at / row['radius']:.3f}" if at is not None and row["radius"] > 0 else "–"
    where = "–" if at is None else f"{at:.4f}"
    return [
        str(row["index"]),
        str(row["class"]),
        radius,
        where,
        ratio,
        str(row["tried"]),
        "VIOLATION" * row["violation"],
    ]
