"""Images → rows: certify what a log does not hold yet."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from smoothcert.certification.crew import Crew, owned
from smoothcert.data import ImageSet, own_of
from smoothcert.errors import InputError
from smoothcert.files.environment import environment
from smoothcert.files.jsonl import refuse_other_settings, refuse_packed
from smoothcert.machine.precision import float32_products, processor
from smoothcert.models.network import declared
from smoothcert.noise import GridNoise
from smoothcert.procedures.evidence import Counts
from smoothcert.procedures.procedure import Procedure
from smoothcert.records.header import Data, Header, header_of
from smoothcert.records.log import CertificationLog, acr_of, read_certification, write_log, writer
from smoothcert.records.parts import as_one, files_of, part_path, to_read
from smoothcert.records.row import Row, to_row
from smoothcert.records.secret_seed import SecretSeed
from smoothcert.records.selection import Selection, require_limit
from smoothcert.smoothed.classifier import SmoothedClassifier, refuse_values_outside
from smoothcert.smoothed.drive import Image
from smoothcert.smoothed.grid_image import is_off_grid


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
    secret: SecretSeed | None = None,
    pilot: Mapping[int, Counts] | None = None,
) -> Iterator[Row | None]:
    """Yield every row of the log, old ones first, then new ones as they are certified and safely written.

    `about` is what there is to say of the model; `limit` ends after that many images of the selection, so that a
    later call can go on; `secret` is where g has its seed from, if the log must not say it; `pilot` has selection
    votes that were drawn before, by image. When the images of this process are done, its file is closed: see
    `files.jsonl`. Images that need fewer votes are finished earlier. In a crew each process certifies images of its own
    and appends them to its own part of the log; the old rows are those of all parts. While it is iterated the log is
    locked: a second caller gets InputError. Who leads a crew keeps the lock until all are done, and gets None now and
    then while it waits for the others.
    """
    crew = crew or Crew()
    if procedure.noise != g.noise:
        raise InputError(f"the procedure is for {procedure.noise}, the classifier votes under {g.noise}")
    images, own = selection.of(len(data)), own_of(data)
    header = replace(
        header_of(about),
        data=Data(data.name, data.split, len(data), data.fingerprint, *((own.kind, own.labelled) if own else ())),
        selection=selection,
        selected=len(images),
        noise=g.noise,
        num_classes=g.num_classes,
        procedure=procedure,
        seed=g.seed if secret is None else None,
        seed_commitment=None if secret is None else secret.commitment,
        device=g.device.type,
        precision=g.precision,
    )
    require_limit(limit)
    if secret is not None and secret.number != g.seed:
        raise InputError("the classifier votes under another seed than the secret one of the log")
    started = {"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    # Stated, so that a header which was edited to contradict its recipe can be told from a certification that did.
    departs = {"changed": list(changed)} if (changed := header.departures()) else {}
    with owned(log, crew):
        refuse_packed(log)
        earlier = _earlier(log, header, alone=crew.part is None)
        known = as_one(log, earlier).rows if earlier else []
        path = log if crew.part is None else part_path(log, crew.part)
        mine_before = next((file for file in earlier if file.path == path), None)
        where = environment() | processor(g.device) | float32_products(g.device) | started | departs
        rows = writer(path, name, header, where, mine_before)
        try:
            yield from known
            done = {row["index"] for row in known}
            written = [] if mine_before is None else list(mine_before.rows)
            mine = _open(g, data, crew.choose(images[:limit], done), pilot or {})
            for image, certificate, seconds in g.certificates(procedure, mine, crew.room):
                file = own.names[image.index] if own is not None and own.names else None
                row = to_row(certificate, image.label, seconds, file)
                rows.append(row)
                written.append(row)
                crew.count_row()
                yield row
            if limit is None or limit >= len(images):
                rows.finish({"acr": acr_of(header, written)})
        finally:
            rows.close()
        yield from crew.wait()


def _earlier(log: Path, wanted: Header, alone: bool) -> list[CertificationLog]:
    """The log and all its parts, whoever wrote them, each read once; refused if they were made with other settings.

    A log of fewer images is no other: every 100th are among every 10th, so it is gone on with. A packed one is gone on
    with in an unpacked copy.
    """
    source = to_read(log)
    found = [read_certification(file) for file in files_of(source)]
    if not found:
        return []
    whole = as_one(source, found)
    if source == log and whole.header == wanted:
        return found
    new = replace(whole, header=wanted)
    if alone and found == [whole] and _is_part_of(whole.header, wanted):
        return [write_log(log, new)]
    refuse_other_settings(source, whole.decides, wanted.to_json())
    raise InputError(f"{source}: is packed and cannot be gone on with by several: gunzip it, or choose another --out")


def _is_part_of(old: Header, new: Header) -> bool:
    """Are they alike but for the images, and are all that were selected for `old` selected for `new`?"""
    same = old.data == new.data and replace(old, selection=new.selection, selected=new.selected) == new
    return same and set(old.images) <= set(new.images)


def _open(
    g: SmoothedClassifier, data: ImageSet, indices: Iterable[int], pilot: Mapping[int, Counts]
) -> Iterator[Image]:
    for index in indices:
        x, y = data.batch(torch.tensor([index]))
        refuse_values_outside(declared(g.f).input_range, x)
        if isinstance(g.noise, GridNoise) and is_off_grid(x):
            raise InputError(f"image {index} is not on the grid of 8-bit images, which grid noise is for: give uint8")
        yield Image(x[0], index, int(y[0]) if y[0] >= 0 else None, pilot.get(index, ()))
