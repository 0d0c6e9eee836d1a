"""certify_run: a run or any model → a certification log."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

from smoothcert.certification.crew import crew_of
from smoothcert.certification.pilot import Pilot, pilot_path, share_budget
from smoothcert.certification.run import certify_images
from smoothcert.certification.target import ModelOptions, open_target
from smoothcert.errors import InputError
from smoothcert.files.source import is_spec
from smoothcert.machine.processes import place
from smoothcert.machine.work import work
from smoothcert.procedures.bound import bound_of
from smoothcert.procedures.budget import Budgeted, unplanned
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.procedures.curve import Curve
from smoothcert.procedures.evidence import Counts
from smoothcert.procedures.procedure import Procedure, build
from smoothcert.recipes.serialize import kind_of
from smoothcert.records.row import Row
from smoothcert.records.secret_seed import secret_seed_for
from smoothcert.records.selection import Selection, require_limit
from smoothcert.smoothed.classifier import SmoothedClassifier

_COLLAPSED = (
    "almost no image is certified under this noise: the network was not trained for it, or denoiser and classifier "
    "disagree about the scale: see `smoothcert advise`"
)


@dataclass(frozen=True)
class Certified:
    """One image has its certificate, which is safely written; `row` is its line of the log.

    Rows that earlier calls wrote come first. The process that leads others has a `row` of None now and then, while it
    waits for them.
    """

    row: Row | None
    done: int
    """images with a certificate, of all processes that work together"""
    total: int
    so_far: str
    """ACR until now, or certified accuracy where radii must not be averaged; without labels how many abstained"""
    note: str = ""
    """what the caller should hear: that σ is not that of the training; with the last image, that almost none is
    certified"""

    def __str__(self) -> str:
        return self.so_far if self.row is None else f"{self.so_far}  {self.row['seconds']:.1f} s/image"


@work
def certify_run(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    procedure: Literal["paper", "curve", "adaptive"] = "paper",
    bound: Literal["single", "pair"] = "single",
    radii: tuple[float, ...] | None = None,
    label_aware: bool = False,
    budget: int | None = None,
    every: int = 1,
    start: int = 0,
    stop: int | None = None,
    limit: int | None = None,
    shard: str | None = None,
    seed: int | Literal["secret"] = 0,
    batch: int | Literal["auto"] = "auto",
    **options: Unpack[ModelOptions],
) -> Generator[Certified, None, Path]:
    """Certify a run, or any model, on its test set or other images; called again, it goes on where it was stopped.

    A log of every 100th image is completed by `every=10`, and no image is certified twice. While it works, the log is
    locked: a second call fails with InputError. Processes that torchrun started share the images.

    Args:
        run: a run folder, or a model: FILE.onnx, TorchScript, FILE.pt2, FILE.pth.tar, package.module:factory,
            timm:NAME, torchvision:NAME
        out: the log (default: certify.jsonl in the run folder, MODEL.certify.jsonl for others' models)
        n0: votes that choose the class
        n: fresh votes that judge it
        alpha: failure probability of each certificate
        procedure: who decides how many votes an image gets; "paper" is CERTIFY of Cohen et al. (2019)
        bound: "pair" also bounds the second class, under Gaussian noise
        radii: the grid of "curve" and "adaptive"
        label_aware: judge the image's label instead of a guess; "paper" then skips images that the n0 votes get wrong,
            which changes neither certified accuracy nor average radius
        budget: votes for all selected images together: n0 of each decide how many of the rest it gets, at most n
        every: certify every k-th image
        start: first image
        stop: image to stop before
        limit: stop after this many images; a later call can go on
        shard: "I/N": every N-th image from the I-th on, into a part of the log
        seed: decides the noise, together with the image's index; "secret": one that nobody knows, kept in LOG.secret
            until `smoothcert reveal`
        batch: noisy copies per forward pass; "auto" takes the fastest of a few
        options: data, device, threads, workers as for `train`; for others' models noise, dataset, arch, num_classes,
            input_shape, normalization; for one's own images dataset="images/", labels="labels.csv", classes; for an f
            put together from parts ensemble=[…], denoiser, mirror=True

    Returns:
        work: iterate over its events (`Certified`), or call `finish()`, which gives the log's path for `read_log`

    Example:
        >>> certify_run("runs/my-run", every=10, n=10_000).finish()  # doctest: +SKIP
        PosixPath('runs/my-run/certify.jsonl')
    """
    selection = Selection(every, start, stop)
    require_limit(limit)
    target = open_target(run, **options)
    if (procedure != "paper" or budget is not None) and is_spec(kind_of(target.noise)):
        asked = f"--procedure {procedure}" if budget is None else "--budget"
        raise InputError(f"{asked} needs a noise of ours: use --procedure paper under one of your own")
    how: Procedure
    if budget is None:
        how = build(procedure, target.noise, n0, n, alpha, bound=bound, radii=radii, label_aware=label_aware)
    else:
        _refuse_beside_budget(procedure, radii, shard)
        how = unplanned(target.noise, budget, n0, n, alpha, bound_of(bound), label_aware)
    crew, test_set = crew_of(place(), shard), target.images()
    log = target.log if out is None else Path(out)
    secret = secret_seed_for(log) if seed == "secret" else None
    g = target.smoothed(secret.number if secret is not None else int(seed), batch)
    wanted = len(selection.fair(len(test_set))[:limit])
    votes: Mapping[int, Counts] = {}
    if isinstance(how, Budgeted):
        pilot = yield from _shared_out(share_budget(g, test_set, log, how, selection), wanted)
        how, votes = pilot.procedure, pilot.votes
    seen = correct = known = abstained = 0
    radius, so_far = 0.0, ""
    about = target.name, target.about
    for row in certify_images(g, test_set, log, how, selection, *about, limit, crew, secret, votes):
        if row is not None:
            right, abstained = row.get("correct", 0), abstained + (row["predict"] == ABSTAIN)
            seen, correct, radius = seen + 1, correct + right, radius + row["radius"] * right
            so_far = f"certified {100 * correct / seen:.1f}%" if how.floors_radii else f"ACR {radius / seen:.3f}"
            so_far = so_far if "correct" in row else f"{abstained} abstained"
            known += crew.todo is None  # rows of earlier calls come first
        left = wanted - known if crew.todo is None else crew.todo
        done, total = known + crew.written, known + left
        collapsed = row is not None and "correct" in row and done == total and _collapsed(seen, correct, how, g)
        yield Certified(row, done, total, so_far, _COLLAPSED if collapsed else target.note)
    if votes and wanted == len(selection.of(len(test_set))):
        pilot_path(log).unlink(missing_ok=True)  # the log has them all
    return log


def _collapsed(seen: int, correct: int, how: Procedure, g: SmoothedClassifier) -> bool:
    """Whether at least 20 images are done and almost none is certified: at most 5 % more than 1/K, and at most 20 %.

    One that always gives the same class gets 1/K. A grid that begins above radius 0 says nothing of this.
    """
    least = how.radii[0] if isinstance(how, Curve) else 0.0
    return seen >= 20 and least == 0 and correct <= seen * min(0.2, 1 / g.num_classes + 0.05)


def _refuse_beside_budget(procedure: str, radii: tuple[float, ...] | None, shard: str | None) -> None:
    if procedure != "paper" or radii is not None:
        raise InputError("--budget plans the votes itself: leave out --procedure and --radii")
    if shard is not None or place().size > 1:
        raise InputError("--budget is shared out among all images by one process: leave out --shard and torchrun")


def _shared_out(sharing: Generator[int, None, Pilot], wanted: int) -> Generator[Certified, None, Pilot]:
    while True:
        try:
            done = next(sharing)
        except StopIteration as end:
            found: Pilot = end.value
            return found
        yield Certified(None, 0, wanted, f"pilot votes of {done:,} images")
