"""A log's certificates computed again from its counts: no model, no data, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothcert.certification.log import CertificationLog
from smoothcert.certification.parts import read_whole
from smoothcert.certification.selection import Selection
from smoothcert.errors import InputError
from smoothcert.procedures.certificate import conclude
from smoothcert.procedures.evidence import Counts, Evidence, Look
from smoothcert.procedures.procedure import Procedure, procedure_of
from smoothcert.recipes.serialize import noise_from_dict
from smoothcert.records.reading import shown


@dataclass(frozen=True)
class Verification:
    """What was recomputed, and all that does not follow: (image, or None for the header; what is wrong)."""

    path: Path
    name: str
    procedure: str
    bound: str
    rows: int
    votes: int
    problems: tuple[tuple[int | None, str], ...]


def verify(path: Path) -> Verification:
    """Every row must be what its procedure gives for its votes, and its votes those the procedure asks for.

    That includes the radius, class, correctness, every count, and through them n, n₀, α and the noise of the header.
    It cannot tell whether f cast these votes or the data set has this label: for that certify again with the seed.
    """
    log = read_whole(path)
    problems: list[tuple[int | None, str]] = []
    votes = 0
    try:
        procedure, images = _header(log)
    except InputError as error:
        problems.append((None, str(error)))
    else:
        for row in log.rows:
            index = row.get("index")
            known = index if type(index) is int else None
            try:
                if type(index) is not int or index not in images:
                    raise InputError(f"image {index!r} is not among those the header selects")
                votes += _row(row, procedure, log.decides["num_classes"])
            except InputError as error:
                problems.append((known, str(error)))
    about = log.decides
    kind = (str(about.get("procedure")), str(about.get("bound")))
    return Verification(log.path, log.name, *kind, len(log.rows), votes, tuple(problems))


def _header(log: CertificationLog) -> tuple[Procedure, range]:
    about = log.decides
    noise = noise_from_dict(about.get("noise"))
    classes = about.get("num_classes")
    if type(classes) is not int or not 2 <= classes <= 10**6:
        raise InputError(f"the header does not say how many classes there are: num_classes is {classes!r}")
    chosen, data = about.get("selection"), about.get("data")
    images_known = isinstance(data, Mapping) and type(data.get("images")) is int and 0 < data["images"] < 2**53
    if not isinstance(chosen, Mapping) or not images_known:
        raise InputError("the header does not say which images were selected")
    try:
        images = Selection(**chosen).of(about["data"]["images"])
    except TypeError as error:
        raise InputError(f"the header's selection cannot be read: {error}") from error
    if len(images) != about.get("selected"):
        raise InputError(f"{about.get('selected')} images are said to be selected, but it is {len(images)}")
    return procedure_of(about, noise), images


def _row(row: Mapping[str, Any], procedure: Procedure, num_classes: int) -> int:
    """The votes of a row that follows; InputError says what does not."""
    label, correct = row.get("label"), row.get("correct")
    if type(label) is not int or not 0 <= label < num_classes:
        raise InputError(f"label {label!r} is not one of the {num_classes} classes")
    selection = _dense(row.get("selection"), num_classes)
    estimation = _dense(row.get("estimation"), num_classes)
    evidence = Evidence(selection if any(selection) else (), given=label if procedure.label_aware else None)
    if not evidence.selection and evidence.given is None:
        raise InputError("there are no selection votes, and no label was given")
    if "looks" in row:
        evidence = Evidence(evidence.selection, estimation, _looks(row["looks"]), evidence.given)
    else:
        evidence = evidence.looked(estimation)
    again = conclude(procedure, evidence)
    if row.get("predict") != again.label or type(row.get("predict")) is not int:
        raise InputError(f"predict is {row.get('predict')!r}, but the votes give {again.label}")
    if row.get("radius") != again.radius or type(row.get("radius")) not in (int, float):
        raise InputError(f"the radius is {row.get('radius')!r}, but the votes give {again.radius!r}")
    if type(correct) is not int or correct != int(again.label == label):
        raise InputError(f"correct is {correct!r}, with class {again.label} and label {label}")
    return again.votes


def _dense(votes: Any, num_classes: int) -> Counts:
    if not isinstance(votes, Mapping):
        raise InputError("the votes are missing")
    counts = [0] * num_classes
    for name, count in votes.items():
        known = len(name) <= 7 and name.isdecimal() and str(int(name)) == name and int(name) < num_classes
        if not known:
            raise InputError(f"votes for {shown(name)}, which is not one of the {num_classes} classes")
        if type(count) is not int or count < 1:
            raise InputError(f"{count!r} votes for class {name}")
        counts[int(name)] = count
    return tuple(counts)


def _looks(looks: Any) -> tuple[Look, ...]:
    if not isinstance(looks, list) or not all(
        isinstance(look, list) and len(look) == 3 and all(type(number) is int for number in look) for look in looks
    ):
        raise InputError("the looks are not lists of three whole numbers")
    return tuple(Look(*look) for look in looks)
