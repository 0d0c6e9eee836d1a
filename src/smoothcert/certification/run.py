"""Images → rows: certify what a log does not hold yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from smoothcert.certification.crew import Crew, owned
from smoothcert.certification.log import CertificationLog, read_log, write_log, writer
from smoothcert.certification.parts import as_one, files_of, part_path, selected, to_read
from smoothcert.certification.selection import Selection
from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.procedures.certificate import Certificate
from smoothcert.procedures.fixed import Fixed
from smoothcert.procedures.procedure import Procedure
from smoothcert.recipes import to_dict
from smoothcert.records.environment import environment
from smoothcert.records.jsonl import as_json, refuse_other_settings, refuse_packed
from smoothcert.smoothed.classifier import SmoothedClassifier, refuse_values_outside
from smoothcert.smoothed.drive import Image


def certify_images(
    g: SmoothedClassifier,
    data: ImageSet,
    log: Path,
    procedure: Procedure,
    selection: Selection,
    name: str,
    about: dict[str, Any],
    limit: int | None = None,
    crew: Crew | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[dict[str, Any]]:
    """Yield every row of the log, old ones first, then new ones as they are certified and safely written.

    `about` is what there is to say of the model; `limit` ends after that many images of the selection, so that a
    later call can go on. Images that need fewer votes than others are finished earlier. In a crew each process
    certifies images of its own and appends them to its own part of the log; the old rows are those of all parts. While
    it is iterated the log is locked: a second caller gets InputError. Who leads a crew keeps the lock until all are
    done, and calls `meanwhile` now and then.
    """
    crew = crew or Crew()
    if procedure.noise != g.noise:
        raise InputError(f"the procedure is for {procedure.noise}, the classifier votes under {g.noise}")
    images = selection.of(len(data))
    decides = {
        **about,
        "data": {
            "name": data.name,
            "split": data.split,
            "images": len(data),
            "fingerprint": data.fingerprint,
        },
        "selection": asdict(selection),
        "selected": len(images),
        "noise": to_dict(g.noise),
        "num_classes": g.num_classes,
        **procedure.header(),
        "seed": g.seed,
        "device": g.device.type,
    }
    if limit is not None and limit < 1:
        raise InputError(f"--limit must be at least 1, not {limit}")
    started = {"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    with owned(log, crew):
        refuse_packed(log)
        earlier = _earlier(log, as_json(decides), alone=crew.part is None)
        known = as_one(log, earlier).rows if earlier else []
        path = log if crew.part is None else part_path(log, crew.part)
        mine_before = next((file for file in earlier if file.path == path), None)
        rows = writer(path, name, decides, environment() | started, mine_before)
        try:
            yield from known
            done = {row["index"] for row in known}
            mine = _open(g, data, crew.choose(images[:limit], done))
            for image, certificate, seconds in g.certificates(procedure, mine, crew.room):
                row = to_row(certificate, image.label, seconds)
                rows.append(row)
                crew.count_row()
                yield row
        finally:
            rows.close()
        crew.wait(meanwhile)


def _earlier(log: Path, wanted: dict[str, Any], alone: bool) -> list[CertificationLog]:
    """The log and all its parts, whoever wrote them, each read once; refused if they were made with other settings.

    A log of fewer images is no other: every 100th are among every 10th, so it is gone on with. A packed one is gone on
    with in an unpacked copy.
    """
    source = to_read(log)
    found = [read_log(file) for file in files_of(source)]
    if not found:
        return []
    whole = as_one(source, found)
    if source == log and whole.decides == wanted:
        return found
    new = replace(whole, decides=wanted)
    if alone and found == [whole] and _is_part_of(whole, new):
        return [write_log(log, new)]
    refuse_other_settings(source, whole.decides, wanted)
    raise InputError(f"{source}: is packed and cannot be gone on with by several: gunzip it, or choose another --out")


def _is_part_of(old: CertificationLog, new: CertificationLog) -> bool:
    """Are they alike but for the images, and are all that were selected for `old` selected for `new`?"""
    apart = {"selection": None, "selected": None}
    return old.decides | apart == new.decides | apart and set(selected(old)) <= set(selected(new))


def _open(g: SmoothedClassifier, data: ImageSet, indices: Iterable[int]) -> Iterator[Image]:
    for index in indices:
        x, y = data.batch(torch.tensor([index]))
        refuse_values_outside(getattr(g.f, "input_range", None), x)
        yield Image(x[0], index, int(y[0]))


def to_row(certificate: Certificate, label: int | None, seconds: float) -> dict[str, Any]:
    """One line of the log; votes are sparse, because most of a thousand classes get none.

    `predict` is the certified class, or ABSTAIN; in a label-aware log ABSTAIN means no more than that the label was
    not certified. The looks of CERTIFY are its votes, and not written twice.
    """
    row: dict[str, Any] = {
        "index": certificate.index,
        "label": label,
        "predict": certificate.label,
        "radius": certificate.radius,
        "correct": int(certificate.label == label),
        "selection": _sparse(certificate.selection),
        "estimation": _sparse(certificate.estimation),
    }
    if not isinstance(certificate.procedure, Fixed):
        row["looks"] = [list(look) for look in certificate.looks]
    return row | {"seconds": round(seconds, 3)}


def _sparse(votes: tuple[int, ...]) -> dict[str, int]:
    return {str(label): count for label, count in enumerate(votes) if count}
