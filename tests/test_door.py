"""The door: every public name is seen, found and explained."""

import contextlib
import inspect
import io
import re
import subprocess
import sys

import pytest

import smoothcert

PUBLIC = {name: getattr(smoothcert, name) for name in smoothcert.__all__}
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if inspect.isfunction(thing)}
FOUND = {"Certificate", "InputError", "Prediction", "Results"}  # are given to users, not made by them
OF_VOTES = {"certify", "predict"}  # pure functions of votes, whose docstrings state the theorem only


def members(cls):
    return {n: m for n, m in vars(cls).items() if not n.startswith("_") and (inspect.isfunction(m) or is_property(m))}


def is_property(member):
    return isinstance(member, property)


METHODS = {
    f"{c}.{n}": m for c, cls in CLASSES.items() if not cls.__module__.startswith("smoothcert.procedures.")
    for n, m in members(cls).items()
}  # fmt: skip
SECTIONED = {
    **{name: f for name, f in FUNCTIONS.items() if name not in OF_VOTES},
    **{name: m for name, m in METHODS.items() if name.split(".")[0] in ("SmoothedClassifier", "Results", "Objective")},
}
SECTIONED = {name: thing for name, thing in SECTIONED.items() if not is_property(thing)}


def sections(thing):
    return re.findall(r"^(Args|Returns|Example):$", inspect.getdoc(thing) or "", re.M)


def parameters(thing):
    return [p for p in inspect.signature(thing).parameters if p != "self"]


def documented(thing):
    (args,) = re.findall(r"^Args:\n((?:    .*\n)+)", inspect.getdoc(thing) + "\n", re.M)
    return re.findall(r"^    (\w+): \S", args, re.M)


def test_dir_shows_every_public_name_without_waiting_for_torch():
    code = "import smoothcert, sys; print(*dir(smoothcert)); assert 'torch' not in sys.modules"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert set(shown) == {*smoothcert.__all__, "__version__"}


def test_every_public_name_is_typed_and_nothing_else_is():
    assert set(smoothcert.__all__) == set(smoothcert._PLACE_OF)
    source = inspect.getsource(smoothcert)
    typed = source[source.index("if TYPE_CHECKING") : source.index("__version__ =")]
    assert all(re.search(rf"\b{name}\b", typed) for name in PUBLIC)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = smoothcert.nothing


def test_the_example_of_help_certifies_something():
    (example,) = re.findall(r"\n\n((?:    .*\n|\n)+)", smoothcert.__doc__)
    assert len(example.strip().splitlines()) <= 10
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(inspect.cleandoc("\n" + example), "smoothcert", "exec"), {})
    assert re.search(r"abstained|class \d within l2 radius \d", out.getvalue())


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS, *METHODS])
def test_the_first_line_says_what_it_is(name):
    thing = {**PUBLIC, **METHODS}[name]
    first = (thing.__doc__ or "").split("\n")[0]
    assert len(first) > 10 and not first.startswith(f"{name}("), "dataclasses write their signature if nobody does"


@pytest.mark.parametrize("name", SECTIONED)
def test_a_function_has_args_returns_and_an_example(name):
    thing = SECTIONED[name]
    wanted = parameters(thing)
    assert sections(thing) == (["Args"] if wanted else []) + ["Returns", "Example"]
    assert not wanted or documented(thing) == wanted


@pytest.mark.parametrize("name", sorted(set(CLASSES) - FOUND))
def test_a_class_that_users_make_has_args_and_an_example(name):
    wanted = parameters(CLASSES[name])
    assert sections(CLASSES[name]) == (["Args"] if wanted else []) + ["Example"]
    assert not wanted or documented(CLASSES[name]) == wanted
