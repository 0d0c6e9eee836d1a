"""Labels that a user gives: a CSV beside the pictures, numbers or the names of classes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.reading import read_bytes
from smoothcert.files.shown import shown

_LARGEST = 2**27  # bytes of a CSV: a million files
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def read_csv(path: Path) -> dict[str, str]:
    """File → label, of a CSV with the columns file and label."""
    try:
        rows = csv.DictReader(io.StringIO(read_bytes(path, _LARGEST).decode("utf-8-sig"), newline=""))
        if not {"file", "label"} <= set(rows.fieldnames or ()):
            raise InputError(f"{path}: its first line must name the columns file,label")
        found: dict[str, str] = {}
        for row in rows:
            file, label = (row["file"] or "").strip(), (row["label"] or "").strip()
            if not file or not label:
                raise InputError(f"{path}: line {rows.line_num} lacks a file or a label")
            file = Path(file).as_posix()  # without a leading ./
            if file in found:
                raise InputError(f"{path}: line {rows.line_num} repeats {shown(file)[1:-1]}")
            found[file] = label
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    if not found:
        raise InputError(f"{path}: names no file")
    return found


def label_each(files: Sequence[str], given: Mapping[str, str], folder: Path, table: Path) -> list[str]:
    """The label of each file; every file must have one, and every file of the table must be there."""
    here = set(files)
    for file in given:
        if file not in here:
            raise InputError(f"{table}: names {shown(file)[1:-1]}, which is no picture in {folder}")
    for file in files:
        if file not in given:
            raise InputError(f"{table}: has no label for {file}: add it, or take the picture out of {folder}")
    return [given[file] for file in files]


def numbered(
    labels: Sequence[str], files: Sequence[str], where: str, classes: Sequence[str] | None
) -> NDArray[np.int64]:
    """Labels as class numbers: they are numbers, or names of `classes`, which are in the model's order."""
    if classes is None:
        for label, file in zip(labels, files, strict=True):
            if not _NUMBER.fullmatch(label):
                raise InputError(
                    f"{where}: label {shown(label)} of {file} is not a whole number from 0 on: use numbers, or name "
                    "the model's classes in its order with --classes, as in --classes cat,dog"
                )
        return np.array([int(label) for label in labels], np.int64)
    number = {name: k for k, name in enumerate(classes)}
    for label, file in zip(labels, files, strict=True):
        if label not in number:
            raise InputError(
                f"{where}: label {shown(label)} of {file} is not in --classes{did_you_mean(label, number)}"
            )
    return np.array([number[label] for label in labels], np.int64)


def are_numbers(names: Sequence[str]) -> bool:
    return all(_NUMBER.fullmatch(name) for name in names)
