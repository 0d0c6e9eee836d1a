"""CONTRIBUTING walks through files and functions that are there, in at most ten steps."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WALK = re.search(r"## Walk it\n(.*?)\n## ", (ROOT / "CONTRIBUTING.md").read_text(), re.S)[1]
PLACES = sorted(set(re.findall(r"`([\w/]+\.py)` `([\w.]+)`", WALK)))


def test_each_way_has_at_most_ten_steps():
    ways = [re.findall(r"^\| (\d+) \|", way, re.M) for way in WALK.split("The way of")[1:]]
    assert len(ways) == 3 and all(way == [str(i + 1) for i in range(len(way))] and len(way) <= 10 for way in ways)


@pytest.mark.parametrize(("file", "name"), PLACES, ids=lambda value: value)
def test_a_step_names_a_function_that_is_there(file, name):
    body = ast.parse((ROOT / "src" / "smoothcert" / file).read_text()).body
    for part in name.split("."):
        found = [n for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == part]
        assert found, f"{file} has no {name}"
        body = found[0].body
