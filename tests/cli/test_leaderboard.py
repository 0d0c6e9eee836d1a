"""smoothcert leaderboard"""

import json

import pytest

from tests.analysis.made import random_results, write_log
from tests.cli.running import fails, smoothcert

DATA = {"name": "mnist5k", "split": "test", "images": 200, "fingerprint": "f"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boards")
    for seed, name in enumerate(("first", "second")):
        made = random_results(seed=seed, name=name)
        write_log(folder / f"{name}.jsonl", made, data=DATA, selection={"every": 1, "start": 0, "stop": None})
    (folder / "empty.tsv").write_text("nothing\n")
    return folder


def test_three_narrow_tables_and_the_best_first(folder):
    done = smoothcert("leaderboard", "first.jsonl", "second.jsonl", cwd=folder)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "mnist5k, σ = 0.50: n = 1,000, α = 0.001, the same 200 images"
    assert [line.split()[0] for line in lines if line and line.split()[0] in ("#", "CA", "p_A")] == ["#", "CA", "p_A"]
    assert max(map(len, lines)) <= 120
    (board,) = json.loads(smoothcert("leaderboard", "first.jsonl", "second.jsonl", "--json", cwd=folder).stdout)
    acrs = [place["acr"] for place in board["places"]]
    assert acrs == sorted(acrs, reverse=True) and f"{acrs[0]:.3f}" in lines[3] and f"{acrs[1]:.3f}" in lines[4]


def test_labels_radii_and_markdown(folder):
    call = ("leaderboard", "first.jsonl", "second.jsonl", "--label", "our own", "theirs", "--radii", 0, 0.255)
    said = smoothcert(*call, "--format", "markdown", cwd=folder).stdout
    assert said.startswith("**mnist5k") and "| our own |" in said and "| CA 0.00 | CA 0.255 |" in said


def test_wrong_calls(folder):
    assert "name at least one" in fails("leaderboard", cwd=folder)
    assert "--radii" in fails("leaderboard", "first.jsonl", "--radii", "-1", cwd=folder)
    assert "not a certification log" in fails("leaderboard", "empty.tsv", cwd=folder)
    assert "exclude" in fails("leaderboard", "first.jsonl", "--json", "--format", "markdown", cwd=folder)
    done = smoothcert("leaderboard", "first.jsonl", "empty.tsv", cwd=folder)
    assert done.returncode == 1 and "left out: " in done.stderr and "mnist5k" in done.stdout
