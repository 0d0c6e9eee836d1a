"""A header is parsed once: what we wrote is written again byte for byte, and what cannot be is refused in one line."""

import gzip
import json
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, Laplace
from smoothcert.procedures.procedure import build
from smoothcert.recipes import RECIPES, to_dict
from smoothcert.records.header import UNSTATED, Header, header_of
from smoothcert.records.log import CertificationLog
from smoothcert.records.parts import combined
from smoothcert.records.selection import Selection

RUNS = sorted((Path(__file__).parents[2] / "results" / "runs").glob("*/*.jsonl.gz"))
WRITTEN = {
    "model": {"name": "lenet", "variant": "channels-last", "sha256": "00"},
    "recipe": to_dict(RECIPES["mnist/consistency/0.50"]),
    "data": {"name": "mnist", "split": "test", "images": 40, "fingerprint": "0"},
    "selection": {"every": 10, "start": 0, "stop": None},
    "selected": 4,
    "noise": {"kind": "gaussian", "sigma": 0.5},
    "num_classes": 10,
    "procedure": "paper",
    "bound": "single",
    "n0": 100,
    "n": 1000,
    "alpha": 0.001,
    "seed": 0,
    "device": "cpu",
}


@pytest.mark.parametrize("log", RUNS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_published_headers_are_written_again_byte_for_byte(log):
    with gzip.open(log) as file:
        written = json.loads(file.readline())["decides"]
    header = header_of(written)
    assert json.dumps(header.to_json()) == json.dumps(written)
    assert header.recipe and header.procedure and header.model and header.stated


@pytest.mark.parametrize("name", ["paper", "curve", "adaptive"])
@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.3)], ids=repr)
def test_every_procedure_is_read_as_it_was(name, noise):
    procedure = build(name, noise, 20, 300, 0.01)
    header = Header(noise=noise, procedure=procedure, seed=2**60, imported={"epoch": None})
    again = header_of(json.loads(json.dumps(header.to_json())))
    assert again == header and again.alpha == 0.01 and (again.n0, again.n) == (20, 300)
    assert (again.grid is None) == (name != "curve")


def test_the_fields_are_what_they_say():
    header = header_of(WRITTEN)
    assert header.recipe == RECIPES["mnist/consistency/0.50"] and header.noise == Gaussian(0.5)
    assert header.selection == Selection(10) and list(header.images) == [0, 10, 20, 30]
    assert (header.model.name, header.model.variant, header.data.images) == ("lenet", "channels-last", 40)
    with pytest.raises(FrozenInstanceError):
        header.seed = 1


def test_a_log_without_a_header_states_nothing():
    assert header_of({}) == UNSTATED and not UNSTATED.stated and UNSTATED.to_json() == {}
    assert (UNSTATED.n, UNSTATED.alpha, UNSTATED.grid, UNSTATED.norm, UNSTATED.bound) == (
        None,
        None,
        None,
        "ℓ₂",
        "single",
    )
    with pytest.raises(InputError, match="does not say which images"):
        _ = UNSTATED.images


def test_float32_is_what_a_log_has_that_does_not_say_its_precision():
    assert header_of(WRITTEN).precision == "float32" and "precision" not in header_of(WRITTEN).to_json()
    other = header_of(WRITTEN | {"precision": "bfloat16"})
    assert other.to_json()["precision"] == "bfloat16" and other != header_of(WRITTEN)
    logs = [
        CertificationLog(Path(p), "x", header_of(WRITTEN | {"precision": p}), {}, []) for p in ("float32", "bfloat16")
    ]
    with pytest.raises(InputError, match="precision: bfloat16 one, None the other"):
        combined(logs)


HOSTILE = [
    ([], "header must be a table"),
    ({"colour": "red"}, "header: unknown field 'colour'"),
    ({"noise": {"kind": "gaussian"}}, "noise: sigma is missing"),
    ({"noise": {"kind": "gaussian", "sigma": "1"}}, "noise.sigma must be of type float"),
    ({"noise": {"kind": "pink", "sigma": 1}}, "noise: unknown kind 'pink'"),
    ({"noise": {"kind": "gaussian", "sigma": -1}}, "noise sigma must be a positive number"),
    ({"n": 10**400}, "noise is missing"),
    (WRITTEN | {"n": "1000"}, "n0 and n must be whole numbers"),
    (WRITTEN | {"alpha": 2.0}, "alpha"),
    (WRITTEN | {"procedure": "curve"}, "radii of the grid are missing"),
    (WRITTEN | {"procedure": ["curve"]}, "procedure"),
    (WRITTEN | {"bound": "triple"}, "single or pair"),
    (WRITTEN | {"num_classes": True}, "header.num_classes must be of type int"),
    (WRITTEN | {"num_classes": 10**9}, "num_classes must be from 2 to"),
    (WRITTEN | {"selected": 5}, "5 images are said to be selected, but it is 4"),
    (WRITTEN | {"selection": {"every": 0}}, "--every"),
    (WRITTEN | {"selection": {"every": 1, "stop": "end"}}, "selection.stop must be of type int"),
    (WRITTEN | {"selection": {"each": 1}}, "selection: unknown field 'each'"),
    (WRITTEN | {"data": "mnist"}, "data must be a table"),
    (WRITTEN | {"data": {"name": "mnist"}}, "data: split is missing"),
    (WRITTEN | {"data": WRITTEN["data"] | {"images": 2**60}}, "data.images is too large"),
    (WRITTEN | {"data": WRITTEN["data"] | {"images": -4}}, "data.images must be from 1 to"),
    (WRITTEN | {"data": WRITTEN["data"] | {"images": 2**40}}, "data.images must be from 1 to 100,000,000"),
    (WRITTEN | {"model": {"name": 3}}, "model.name must be of type str"),
    (WRITTEN | {"model": {}}, "model.name"),
    (WRITTEN | {"recipe": {"epochs": 3}}, "recipe: data is missing"),
    (WRITTEN | {"recipe": WRITTEN["recipe"] | {"epochs": -1}}, "epochs must be at least 1"),
    (WRITTEN | {"imported": []}, "imported must be a table"),
    (WRITTEN | {"seed": 1.5}, "seed must be a whole number"),
    (WRITTEN | {"device": 7}, "header.device must be of type str"),
    (WRITTEN | {"precision": "float16"}, "precision must be float32 or bfloat16, not 'float16'"),
    (WRITTEN | {"precision": None}, "precision"),
]


@pytest.mark.parametrize(("values", "words"), HOSTILE, ids=[words for _, words in HOSTILE])
def test_what_cannot_be_a_header_is_refused_in_one_line(values, words):
    with pytest.raises(InputError) as refused:
        header_of(values)
    assert words in str(refused.value) and "\n" not in str(refused.value) and len(str(refused.value)) < 300


def test_a_header_nested_too_deep_is_refused():
    deep: dict = {}
    for _ in range(60):
        deep = {"imported": deep}
    with pytest.raises(ValueError, match="nested too deep"):
        header_of(deep)


def test_a_selection_that_its_data_do_not_hold_is_refused():
    with pytest.raises(InputError, match="no image is selected"):
        replace(header_of(WRITTEN), selection=Selection(1, 50), selected=None)
