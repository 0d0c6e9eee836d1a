"""Values of a file become what the type hints ask for, or die with one line that names the place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from smoothcert.errors import InputError
from smoothcert.recipes.structure import structure


class Shape(Protocol):
    def area(self) -> float: ...


@dataclass(frozen=True)
class Square:
    side: float

    def area(self) -> float:
        return self.side**2


@dataclass(frozen=True)
class Drawing:
    name: str
    shapes: tuple[Shape, ...]
    copies: int = 1
    framed: bool = False
    frame: Shape | None = None
    price: float | None = None


KINDS = {Shape: {"square": Square}}
SQUARE = {"kind": "square", "side": 2}


def test_a_whole_file_is_read_by_its_hints() -> None:
    values = {"name": "a", "shapes": [SQUARE, SQUARE], "frame": SQUARE, "price": 3}
    drawing = structure(Drawing, values, "drawing", KINDS)
    assert drawing == Drawing("a", (Square(2.0), Square(2.0)), frame=Square(2.0), price=3.0)
    assert type(drawing.price) is float and values["shapes"] == [SQUARE, SQUARE]  # what was given is left as it was
    assert structure(Drawing, {"name": "", "shapes": [], "frame": None}, "drawing", KINDS) == Drawing("", ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, r"drawing\.name must be of type str, not 3"),
        ({"name": None}, r"drawing\.name must be of type str, not None"),
        ({"copies": True}, r"drawing\.copies must be of type int, not True"),
        ({"copies": 2.0}, r"drawing\.copies must be of type int, not 2\.0"),
        ({"copies": 2**53}, r"drawing\.copies is too large a number"),
        ({"price": -(10**5000)}, r"drawing\.price is too large a number: a number of very many digits"),
        ({"price": "3"}, r"drawing\.price must be of type float, not '3'"),
        ({"price": {"kind": "square"}}, r"drawing\.price must be of type float"),
        ({"framed": 1}, r"drawing\.framed must be of type bool, not 1"),
        ({"shapes": SQUARE}, r"drawing\.shapes must be a list"),
        ({"shapes": None}, r"drawing\.shapes must be a list, not None"),
        ({"shapes": [3]}, r"drawing\.shapes must be a table, not 3"),
        ({"shapes": [[SQUARE]]}, r"drawing\.shapes must be a table"),
        ({"frame": {"side": 2}}, r"drawing\.frame: unknown kind None"),
        ({"frame": {"kind": ["square"]}}, r"drawing\.frame: unknown kind \['square'\]"),
        ({"frame": {"kind": "sqare"}}, r"drawing\.frame: unknown kind 'sqare': did you mean square\?"),
        ({"frame": {"kind": "square"}}, r"drawing\.frame: side is missing"),
        ({"frame": SQUARE | {"sid": 3}}, r"drawing\.frame: unknown field 'sid': did you mean side\?"),
        ({"x" * 10**5: 1}, r"drawing: unknown field 'xxx"),
        ({"copies": [[[[[]]]]]}, r"drawing\.copies must be of type int, not \[\[\[\[\[\]\]\]\]\]"),
    ],
)
def test_what_does_not_fit_dies_with_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        structure(Drawing, {"name": "a", "shapes": []} | change, "drawing", KINDS)
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize("values", [None, 3, "drawing", [], 10**400])
def test_what_is_no_table_is_refused(values: Any) -> None:
    with pytest.raises(InputError, match=r"^drawing (must be a table|is too large)"):
        structure(Drawing, values, "drawing", KINDS)
