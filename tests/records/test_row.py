"""A row is checked when it is read: what cannot be one is refused with its line, and a certificate is written whole."""

import pytest

from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.procedures.certificate import certify
from smoothcert.records.row import check_row, to_row

ROW = {"index": 3, "label": 7, "predict": -1, "radius": 0.0, "correct": 0, "selection": {"7": 9}, "estimation": {}}


def test_what_is_known_of_a_row_is_enough_or_all():
    for row in (ROW, {key: ROW[key] for key in ("index", "label", "predict", "radius", "correct")}):
        assert check_row("log: line 2", row) is row
    assert check_row("log: line 2", ROW | {"looks": [[10, 1, 1]], "seconds": 2, "radius": 1})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"label": -1}, "label is -1, not a whole number from 0 on"),
        ({"label": None}, "label is None"),
        ({"predict": 1.0}, "predict is 1.0"),
        ({"predict": -2}, "predict is -2"),
        ({"predict": True}, "predict is True"),
        ({"label": 2**60}, "label is"),
        ({"radius": "0.5"}, "the radius '0.5' is negative or not a number"),
        ({"radius": -0.1}, "the radius -0.1 is negative"),
        ({"radius": float("nan")}, "the radius nan is negative or not a number"),
        ({"radius": 1e9}, "the radius 1000000000.0"),
        ({"radius": False}, "the radius False"),
        ({"correct": 2}, "correct is 2, not 0 or 1"),
        ({"correct": True}, "correct is True"),
        ({"seconds": float("inf")}, "seconds is inf, not a time"),
        ({"seconds": "1"}, "seconds is '1', not a time"),
        ({"selection": [9]}, "selection must hold whole numbers of votes"),
        ({"estimation": {"7": -1}}, "estimation must hold whole numbers of votes"),
        ({"estimation": {"7": 1.5}}, "estimation must hold whole numbers of votes"),
        ({"looks": [[1, 2]]}, "the looks are not lists of three whole numbers"),
    ],
)
def test_what_cannot_be_a_row_is_refused_with_its_line(wrong, words):
    with pytest.raises(InputError) as refused:
        check_row("log: line 9", ROW | wrong)
    assert str(refused.value).startswith(f"log: line 9: {words}") and "\n" not in str(refused.value)


def test_a_certificate_that_is_of_no_image_has_no_row():
    with pytest.raises(InputError, match="without the index"):
        to_row(certify([9, 1], [90, 10], Gaussian(0.5), 0.001), 0, 1.0)
