"""A certificate as a row of a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from smoothcert.errors import InputError
from smoothcert.files.shown import shown
from smoothcert.procedures.certificate import ABSTAIN, Certificate
from smoothcert.procedures.fixed import Fixed

Votes = dict[str, int]
LARGEST_RADIUS = 1e4  # images in [0, 1]^d are √d apart at most, d in ℓ₁
_MOST = 2**53
_LONGEST_NAME = 4096
_MOST_SECONDS = 1e15


class Row(TypedDict):
    """As it is written and read: what was certified for one image, and the votes that prove it.

    Where the header says that the images have no labels, a row has neither `label` nor `correct`.
    """

    index: int
    file: NotRequired[str]
    """of a user's own images, where each is a file: its path within their folder"""
    label: NotRequired[int]
    predict: int
    """the certified class, or ABSTAIN; in a label-aware log that means no more than that the label was not certified"""
    radius: float
    correct: NotRequired[int]
    selection: NotRequired[Votes]
    """votes by class, without the classes that got none"""
    estimation: NotRequired[Votes]
    looks: NotRequired[list[list[int]]]
    """those of CERTIFY are its votes, and not written twice"""
    seconds: NotRequired[float]


def to_row(certificate: Certificate, label: int | None, seconds: float, file: str | None = None) -> Row:
    """One line of the log; votes are sparse, because most of a thousand classes get none."""
    if certificate.index is None:
        raise InputError("a certificate without the index of its image has no place in a log")
    row: Row = {"index": certificate.index}  # type: ignore[typeddict-item]  # the rest follows, in this order
    if file is not None:
        row["file"] = file
    if label is not None:
        row["label"] = label
    row["predict"], row["radius"] = certificate.label, certificate.radius
    if label is not None:
        row["correct"] = int(certificate.label == label)
    row["selection"], row["estimation"] = _sparse(certificate.selection), _sparse(certificate.estimation)
    if not isinstance(certificate.procedure, Fixed):
        row["looks"] = [list(look) for look in certificate.looks]
    row["seconds"] = round(seconds, 3)
    return row


def _sparse(votes: tuple[int, ...]) -> Votes:
    return {str(label): count for label, count in enumerate(votes) if count}


def check_row(where: str, row: Mapping[str, Any], labelled: bool = True) -> Row:
    """The row of an image of known index, or InputError that says what of it cannot be; `where` it stands."""
    if not labelled and not row.keys().isdisjoint(("label", "correct")):
        raise InputError(f"{where}: has a label, but the header says that there are none")
    if "file" in row and not (isinstance(row["file"], str) and 0 < len(row["file"]) <= _LONGEST_NAME):
        raise InputError(f"{where}: file is {shown(row['file'])}, not the name of a file")
    for key, least in (("label", 0), ("predict", ABSTAIN))[not labelled :]:
        value = row.get(key)
        if type(value) is not int or not least <= value < _MOST:
            raise InputError(f"{where}: {key} is {shown(value)}, not a whole number from {least} on")
    radius, correct, seconds = row.get("radius"), row.get("correct"), row.get("seconds", 0)
    if not isinstance(radius, int | float) or type(radius) is bool or not 0 <= radius <= LARGEST_RADIUS:
        raise InputError(f"{where}: the radius {shown(radius)} is negative or not a number up to {LARGEST_RADIUS:g}")
    if labelled and (type(correct) is not int or correct not in (0, 1)):
        raise InputError(f"{where}: correct is {shown(correct)}, not 0 or 1")
    if type(seconds) not in (int, float) or not 0 <= seconds <= _MOST_SECONDS:
        raise InputError(f"{where}: seconds is {shown(seconds)}, not a time")
    for key in ("selection", "estimation"):
        votes = row.get(key, {})
        if type(votes) is not dict or not all(type(v) is int and 0 <= v < _MOST for v in votes.values()):
            raise InputError(f"{where}: {key} must hold whole numbers of votes by class")
    looks = row.get("looks", [])
    if type(looks) is not list or not all(
        type(look) is list and len(look) == 3 and all(type(number) is int for number in look) for look in looks
    ):
        raise InputError(f"{where}: the looks are not lists of three whole numbers")
    return row  # type: ignore[return-value]
