"""smoothcert audit"""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from smoothcert.cli.machine import Machine
from smoothcert.cli.model import Model
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.audit.judgement import Verdict


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
    """run folder, or a model: FILE.onnx, FILE.pth.tar, package.module:factory, timm:NAME, torchvision:NAME"""
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
    """print one JSON object"""
    model: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        import torch

        from smoothcert.audit.attack import Effort
        from smoothcert.audit.judgement import verdict
        from smoothcert.audit.run import audit, plan, require_same
        from smoothcert.certification.parts import read_whole
        from smoothcert.certification.target import open_target
        from smoothcert.cli.display import bar
        from smoothcert.recipes.serialize import noise_from_dict
        from smoothcert.smoothed.votes import Voter

        effort = Effort(self.votes, self.steps, self.restarts, self.views, self.box)
        device = self.machine.ready()
        path = self.log or self._log_of_run()
        log = read_whole(path)
        noise, wishes = noise_from_dict(log.decides.get("noise")), self.model.wishes()
        if wishes.noise not in (None, noise):
            raise InputError(f"{path}: the log is about {noise}, not {wishes.noise}")
        data_name = self.model.dataset or str(log.decides.get("data", {}).get("name"))
        target = open_target(self.run, device, replace(wishes, noise=noise, data=data_name))
        test_set = self.machine.load(data_name, str(log.decides["data"].get("split", "test")))
        target.require_fit(test_set)
        require_same(log, target, test_set)
        chosen = plan(log, self.images)
        out = self.out or _beside(path, self.radius_factor)
        memory_format = getattr(target.f, "memory_format", torch.contiguous_format)
        voter = Voter(target.f, noise, target.num_classes, self.seed, None, device, memory_format)
        rows: list[dict[str, Any]] = []
        with bar() as progress:
            task = progress.add_task(f"audit {target.name}", total=len(chosen.certified), note="")
            for row in audit(chosen, voter, test_set, effort, out, self.radius_factor):
                rows.append(row)
                broken = sum(r["violation"] for r in rows)
                progress.update(task, completed=len(rows), note=f"{broken} violations  {row['seconds']:.1f} s/image")
        found = verdict(rows, len(chosen.chosen), chosen.alpha)
        rows.sort(key=lambda row: row["index"])
        if self.json:
            about = {"run": self.run, "log": str(path), "radius_factor": self.radius_factor, "votes": self.votes}
            print(jsonlib.dumps(about | asdict(found) | {"sound": found.sound, "rows": rows}))
        else:
            self._print(rows, found, noise.norm, out)
        if not found.sound:
            sys.exit(1)

    def _log_of_run(self) -> Path:
        from smoothcert.certification.parts import whole_path

        path = Path(self.run)
        if not path.exists() and ":" not in self.run:
            raise InputError(f"{self.run}: no such run or model file")
        if not path.is_dir():
            raise InputError(f"{self.run}: name its certification log with --log")
        return whole_path(path)

    def _print(self, rows: list[dict[str, Any]], found: Verdict, norm: float, out: Path) -> None:
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


def _beside(log: Path, factor: float) -> Path:
    """certify.jsonl → audit.jsonl, or audit-x2.jsonl; MODEL.certify.jsonl → MODEL.audit.jsonl."""
    name = log.name.replace("certify", "audit") if "certify" in log.name else f"{log.stem}.audit.jsonl"
    return log.with_name(name if factor == 1 else name.replace(".jsonl", f"-x{factor:g}.jsonl"))
