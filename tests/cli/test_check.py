"""smoothcert check, as CI calls it, and the example that does."""

import gzip
import json
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from smoothcert.cli.parse import parse
from smoothcert.files.jsonl import decode, encode
from tests.cli.running import fails, smoothcert

RUNS = Path(__file__).parents[2] / "results" / "runs"
FAST, GAUSSIAN, PAPERS = (
    RUNS / f"mnist-{name}-0.50-seed0" for name in ("consistency-fast", "gaussian", "consistency")
)  # 96, 95 and 95 of 100 images certified at radius 0.5


def check(*arguments, cwd):
    done = smoothcert("check", *arguments, cwd=cwd)
    assert done.stderr == "" and done.returncode in (0, 1)
    return done.returncode, done.stdout


def test_a_required_share_holds_or_falls_short(tmp_path):
    code, said = check(FAST, "--radius", "0.5", "--at-least", "0.91", cwd=tmp_path)
    assert code == 0 and said.count("\n") == 1 and "holds" in said
    assert "the population's" in said and "91.07 %, required 91 % (96 of 100 images certified)" in said
    code, said = check(FAST, "--radius", "0.5", "--at-least", "0.92", cwd=tmp_path)
    assert code == 1 and said.count("\n") == 1 and "FALLS SHORT" in said
    code, said = check(FAST, "--radius", "0.5", "--at-least", "0.95", "--of", "images", cwd=tmp_path)
    assert code == 0 and "these images'" in said
    assert check(FAST, "--radius", "0.5", "--at-least", "0.91", "--confidence", "0.99", cwd=tmp_path)[0] == 1


def test_rows_that_do_not_follow_from_their_votes_prove_nothing(tmp_path):
    header, *rows = gzip.decompress((FAST / "certify.jsonl.gz").read_bytes()).splitlines(keepends=True)
    forged = [encode(decode(row) | {"radius": 5.0, "correct": 1}) for row in rows]
    (tmp_path / "forged.jsonl").write_bytes(header + b"".join(forged))
    wanted = ["--radius", "4", "--at-least", "0.5", "--of", "images"]
    assert "proves nothing" in fails("check", "forged.jsonl", *wanted, cwd=tmp_path)
    assert "proves nothing" in fails("check", FAST, "--compare", "forged.jsonl", cwd=tmp_path)


def test_no_worse_than_a_baseline_at_a_radius_or_in_acr(tmp_path):
    code, said = check(FAST, "--compare", GAUSSIAN, cwd=tmp_path)
    assert code == 0 and said.count("\n") == 1 and "ACR minus that of" in said and "100 images of both" in said
    assert check(GAUSSIAN, "--compare", FAST, cwd=tmp_path)[0] == 1
    at_radius = ["--radius", "0.5", "--compare", PAPERS]
    assert check(FAST, *at_radius, "--margin", "0.01", cwd=tmp_path)[0] == 1
    assert check(FAST, *at_radius, "--margin", "0.1", cwd=tmp_path)[0] == 0
    both = [*at_radius, "--margin", "0.1", "--at-least", "0.92"]
    code, said = check(FAST, *both, cwd=tmp_path)
    assert code == 1 and "required 92 %" in said and "required -0.1" in said


def test_json_says_the_same(tmp_path):
    code, said = check(FAST, "--radius", "0.5", "--at-least", "0.9", "--compare", PAPERS, "--json", cwd=tmp_path)
    found = json.loads(said)
    assert code == 1 and not found["holds"] and found["confidence"] == 0.95
    assert found["at_least"]["holds"] and found["at_least"]["of"] == "population" and found["at_least"]["bound"] > 0.91
    assert not found["compare"]["holds"] and found["compare"]["images"] == 100


def test_what_an_interrupted_certification_lacks_counts_against_it(tmp_path):
    lines = gzip.decompress((FAST / "certify.jsonl.gz").read_bytes()).splitlines(keepends=True)
    (tmp_path / "torn.jsonl").write_bytes(b"".join(lines[:91]) + lines[91][:20])
    code, said = check("torn.jsonl", "--radius", "0.5", "--at-least", "0.9", cwd=tmp_path)
    assert code == 1 and "of 100 images certified, 10 missing" in said
    code, said = check("torn.jsonl", "--radius", "0.5", "--compare", FAST, "--margin", "0.1", cwd=tmp_path)
    assert code == 1 and "10 missing" in said


def test_the_example_for_github_actions_calls_commands_that_exist():
    example = (Path(__file__).parents[2] / "examples" / "github-actions.yml").read_text()
    (job,) = yaml.safe_load(example)["jobs"].values()
    script = "\n".join(step["run"] for step in job["steps"] if "run" in step)
    calls = [shlex.split(line) for line in re.findall(r"^smoothcert [^>\n]*", script.replace("\\\n", " "), re.M)]
    assert [call[1] for call in calls] == ["certify", "verify", "check", "check"]
    for _, name, *arguments in calls:
        command = getattr(import_module(f"smoothcert.cli.{name}"), name.title())
        assert parse(command, f"smoothcert {name}", arguments).json == ("--json" in arguments)
    with pytest.raises(ValueError, match="unknown argument"):
        parse(command, "smoothcert check", [*arguments, "--at-most", "1"])
