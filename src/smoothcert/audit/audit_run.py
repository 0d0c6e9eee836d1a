"""audit_run: a run or any model, and its certification log → which certificates break."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from smoothcert.audit.attack import Effort
from smoothcert.audit.judgement import AuditVerdict, verdict
from smoothcert.audit.run import audit, choose
from smoothcert.certification.certified import open_certified, voter_of
from smoothcert.certification.target import ModelOptions
from smoothcert.errors import InputError
from smoothcert.machine.work import work
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.records.parts import read_whole, whole_path

if TYPE_CHECKING:
    from smoothcert.noise import Noise


@dataclass(frozen=True)
class Audited:
    """One certificate was attacked; `row` is its line of the audit's log. Rows of earlier calls come first."""

    row: dict[str, Any]
    done: int
    total: int
    violations: int

    def __str__(self) -> str:
        return f"{self.violations} violations  {self.row['seconds']:.1f} s/image"


@dataclass(frozen=True)
class Audit:
    """All rows by image, and what they prove together; `out` is the audit's log, `log` the one it is about."""

    log: Path
    out: Path
    noise: Noise
    rows: tuple[dict[str, Any], ...]
    verdict: AuditVerdict


@work
def audit_run(
    run: str | os.PathLike[str],
    log: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    images: int | None = None,
    votes: int = 10_000,
    steps: int = 30,
    restarts: int = 4,
    views: int = 16,
    box: bool = False,
    seed: int = 0,
    radius_factor: float = 1.0,
    **options: Unpack[ModelOptions],
) -> Generator[Audited, None, Audit]:
    """Attack the certificates of a log inside and outside each radius; called again, it goes on where it was stopped.

    While it works, the audit's log is locked: a second call fails with InputError.

    Args:
        run: the run folder, or the model: FILE.onnx, TorchScript, FILE.pt2, FILE.pth.tar, package.module:factory,
            timm:NAME, torchvision:NAME
        log: its certification log (default: the run's)
        out: the audit's own log (default: audit.jsonl beside the certification log)
        images: rows of the log, evenly spread, abstained ones included (default: all)
        votes: fresh votes that judge a point
        steps: of each gradient attack
        restarts: of each gradient attack
        views: noises per gradient
        box: attack with images in [0, 1] only
        seed: decides the noise of search and judgement
        radius_factor: pretend that every radius is this many times as large, to see whether the audit can win
        options: data, device, threads, workers as for `train`; for others' models noise, dataset, arch, num_classes,
            input_shape, normalization; for one's own images dataset="images/", labels="labels.csv", classes

    Returns:
        work: iterate over its events (`Audited`), or call `finish()`, which gives the `Audit` with its verdict

    Example:
        >>> audit_run("runs/my-run", images=100).finish().verdict.sound  # doctest: +SKIP
        True
    """
    effort = Effort(votes, steps, restarts, views, box)
    path = _log_of(run) if log is None else Path(log)
    certified = read_whole(path)
    noise, alpha = certified.header.noise, certified.header.alpha
    if noise is None or alpha is None:
        raise InputError(f"{path}: its header does not say its noise, data and alpha")
    target, test_set = open_certified(run, certified, **options)
    chosen = choose(certified, images)
    certificates = sum(row["predict"] != ABSTAIN for row in chosen)
    place = _beside(path, radius_factor) if out is None else Path(out)
    voter = voter_of(target, seed)
    rows: list[dict[str, Any]] = []
    for row in audit(chosen, alpha, voter, test_set, effort, place, radius_factor):
        rows.append(row)
        yield Audited(row, len(rows), certificates, sum(row["violation"] for row in rows))
    rows.sort(key=lambda row: row["index"])
    return Audit(path, place, noise, tuple(rows), verdict(rows, len(chosen), alpha))


def _log_of(run: str | os.PathLike[str]) -> Path:
    path = Path(run)
    if not path.exists() and ":" not in str(path):
        raise InputError(f"{path}: no such run or model file")
    if not path.is_dir():
        raise InputError(f"{path}: name its certification log with --log")
    return whole_path(path)


def _beside(log: Path, factor: float) -> Path:
    """certify.jsonl → audit.jsonl, or audit-x2.jsonl; MODEL.certify.jsonl → MODEL.audit.jsonl."""
    name = log.name.replace("certify", "audit") if "certify" in log.name else f"{log.stem}.audit.jsonl"
    return log.with_name(name if factor == 1 else name.replace(".jsonl", f"-x{factor:g}.jsonl"))
