"""--json means the same in every command: one document on standard output, nothing else there."""

import json
from dataclasses import fields
from importlib import import_module

import pytest

from smoothcert.cli import COMMANDS
from smoothcert.noise import Gaussian
from smoothcert.objectives import CrossEntropy, Objective
from smoothcert.recipes import Recipe, StepDecay, to_dict
from tests.cli.running import fails, smoothcert

RECIPE = Recipe("fake", "lenet", Objective(Gaussian(0.25), (CrossEntropy(),)), 1, 0.02, StepDecay(30), batch=64)
CALLS = {
    "recipes": "mnist/*/0.50",
    "show": "mnist/gaussian/0.50",
    "reproduce": "table10 --dry-run",
    "advise": "run --images 20 --votes 20",
    "certify": "run --n 100 --every 8",
    "predict": "run --every 20 --n 100",
    "check": "run --radius 0 --at-least 0.01",
    "verify": "run run",
    "audit": "run --images 1 --votes 500 --steps 1 --restarts 1 --views 2",
    "table": "run run",
    "leaderboard": "run run",
    "compare": "run run",
    "cost": "run run",
}
BESIDE = {"selftest"}  # takes longer: tests/cli/test_audit.py
LISTS = ("recipes", "reproduce", "predict", "verify", "table", "leaderboard", "cost")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    (folder / "recipe.json").write_text(json.dumps(to_dict(RECIPE)))
    assert smoothcert("train", "recipe.json", "--out", "run", "--device", "cpu", cwd=folder).returncode == 0
    assert smoothcert("certify", "run", *CALLS["certify"].split()[1:], cwd=folder).returncode == 0
    return folder


def has_json(name):
    module = import_module(f"smoothcert.cli.{name.replace('-', '_')}{'_' * (name == 'import')}")
    return "json" in {field.name for field in fields(getattr(module, name.title().replace("-", "")))}


def test_all_that_have_the_option_are_listed_here():
    assert set(CALLS) | BESIDE == {name for name in COMMANDS if has_json(name)}


def no_such_number(word):
    raise AssertionError(f"JSON knows no {word}")


@pytest.mark.parametrize("name", CALLS)
def test_json_is_one_document_and_nothing_else(folder, name):
    done = smoothcert(name, *CALLS[name].split(), "--json", cwd=folder)
    assert done.returncode in (0, 1) and done.stderr == "", done
    found = json.loads(done.stdout, parse_constant=no_such_number)
    assert isinstance(found, list if name in LISTS else dict)


def test_progress_goes_elsewhere(folder):
    done = smoothcert("predict", "run", "--every", 20, "--n", 100, "--json", "--progress", "bar", cwd=folder)
    assert len(json.loads(done.stdout)) == 2 and "2/2" in done.stderr


def test_certify_says_what_it_printed_before(folder):
    call = ["certify", "run", *CALLS["certify"].split()[1:]]
    found, said = json.loads(smoothcert(*call, "--json", cwd=folder).stdout), smoothcert(*call, cwd=folder).stdout
    assert found["log"] == "run/certify.jsonl" == found["files"][0] and found["images"] == found["selected"] == 5
    assert f"ACR {found['acr']:.3f} ± {found['acr_standard_error']:.3f}" in said
    assert f"{found['votes'] / 5:,.0f} votes/image" in said and (found["procedure"], found["bound"]) == (
        "paper",
        "single",
    )
    assert f"accuracy {100 * found['certified_accuracy']['0']:.1f}%" in said


def test_one_image_has_no_standard_error(folder):
    call = ["certify", "run", "--n", 100, "--limit", 1, "--out", "one.jsonl"]
    assert "± –  " in smoothcert(*call, cwd=folder).stdout
    assert json.loads(smoothcert(*call, "--json", cwd=folder).stdout)["acr_standard_error"] is None
    assert "--format json --out" in fails("table", "run", "--json", "--out", "t.json", cwd=folder)
