"""Every recipe is what it was: a run folder holds its JSON, and a run of another recipe is not resumed.

A new field of recipes adds lines to `toml`, and they are named here; `json` must never change, or the runs of earlier
versions are runs of no recipe any more.
"""

import hashlib
import json

import pytest

from smoothcert.cli.recipes import describe
from smoothcert.recipes import (
    ALIASES,
    RECIPES,
    after2020,
    best_mnist,
    denoisers,
    fashion_mnist,
    fast_cifar10,
    photographs,
    printed_rows,
    to_dict,
    to_toml,
)

YOUNGER_LINES = ('precision = "float32"\n', "ramp = 0.0\n")


def without(lines: tuple[str, ...], toml: str) -> str:
    for line in lines:
        toml = toml.replace(line, "")
    return toml


PARTS = (after2020, best_mnist, denoisers, fashion_mnist, fast_cifar10, photographs)
YOUNGER = {name for part in PARTS for name in part.RECIPES}
OLD = {name: recipe for name, recipe in RECIPES.items() if name not in YOUNGER}
FROZEN = {
    "names": "91745663f75563fd",
    "aliases": "2b8856de6674f791",
    "json": "fbe8f612c103f4ce",
    "toml": "7fe3fc02031b01e3",
    "printed": "a409c00b463670d5",
    "listed": "754efccf6664ae88",
}
MADE = {
    "names": lambda: list(OLD),
    "aliases": lambda: ALIASES,
    "json": lambda: {name: to_dict(recipe) for name, recipe in OLD.items()},
    "toml": lambda: {name: without(YOUNGER_LINES, to_toml(recipe)) for name, recipe in OLD.items()},
    "printed": lambda: {name: [repr(row) for row in printed_rows(name)] for name in (*OLD, *ALIASES)},
    "listed": lambda: [describe(name) for name in OLD],
}


@pytest.mark.parametrize("what", FROZEN)
def test_all_recipes_are_byte_for_byte_what_they_were(what: str) -> None:
    text = json.dumps(MADE[what](), ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == FROZEN[what]
