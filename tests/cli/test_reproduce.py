"""recipes, show, train --set --scale, and reproduce from a plan to a verdict, reduced and on fake data."""

import json
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from smoothcert import paper
from smoothcert.analysis import Results
from smoothcert.analysis.verdict import judge
from smoothcert.certification.log import read_log
from smoothcert.cli.reproduce import Reproduce
from smoothcert.errors import InputError
from smoothcert.recipes import RECIPES, find, from_dict, override, scaled, to_dict
from smoothcert.reproduction import compare, items
from tests.cli.running import fails, smoothcert

FAKE = ["--set", "data=fake", "batch=64", "--scale", "0.03", "--device", "cpu"]
RUN = "mnist-gaussian-0.50+data=fake+batch=64-reduced0.03-seed"


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """Two seeds of a row, trained and certified as far as 3 % goes."""
    folder = tmp_path_factory.mktemp("reproduce")
    done = smoothcert("reproduce", "mnist/gaussian/0.50", *FAKE, "--seeds", "0,1", cwd=folder)
    assert done.returncode == 0, done
    return folder, done.stdout


def test_a_reduced_run_goes_from_training_to_the_papers_cells_and_says_reduced(reproduced):
    folder, out = reproduced
    for seed in (0, 1):
        run = folder / "runs" / f"{RUN}{seed}"
        assert json.loads((run / "recipe.json").read_text())["reduced"] == "scale 0.03: 3 of 90 epochs"
        log = read_log(run / "certify.jsonl")
        assert log.decides["recipe"]["reduced"] and "reduced" in log.name
        assert (log.decides["n"], log.decides["selection"]["every"], log.decides["seed"]) == (3000, 33, seed)
    assert out.count("scale 0.03: 3 of 90 epochs") == 4 + 2  # two trainings, two certifications, two printed rows
    lines = out.splitlines()
    assert [line[:13] for line in lines if line.startswith("ours")] == ["ours, reduced"] * 2
    assert out.count("changed data=fake; changed batch=64") == 2
    assert "[6:7]" in out and "[7:2]" in out and "± s.d., seeds" in out and "paper" in out and "gap" in out
    assert sum(line.startswith("ACR minus the printed 1.55") for line in lines) == 2
    assert lines[-1] == "2 rows: 2 reduced run"


def test_what_is_done_is_not_done_again_and_what_was_torn_is_mended(reproduced):
    folder, _ = reproduced
    runs = [folder / "runs" / f"{RUN}{seed}" for seed in (0, 1)]
    whole = [(run / "certify.jsonl").read_bytes() for run in runs]
    trained = [(run / "model.safetensors").stat().st_mtime_ns for run in runs]
    (runs[1] / "certify.jsonl").write_bytes(whole[1][:-30])  # as a crash in the middle of a row leaves it
    command = ["reproduce", "mnist/gaussian/0.50", *FAKE, "--seeds", "0,1"]
    plan = json.loads(smoothcert(*command, "--dry-run", "--json", cwd=folder).stdout)
    assert [(p["trained"], p["certified"], p["selected"]) for p in plan] == [(True, 2, 2), (True, 1, 2)]
    done = json.loads(smoothcert(*command, "--json", cwd=folder).stdout)
    assert [(run / "model.safetensors").stat().st_mtime_ns for run in runs] == trained
    assert (runs[0] / "certify.jsonl").read_bytes() == whole[0]
    rows = [read_log(run / "certify.jsonl").rows for run in runs]
    assert [len(r) for r in rows] == [2, 2]
    first = done["rows"][0]
    assert (first["row"], first["seeds"], first["verdict"]) == ("6:7", [0, 1], "reduced run") and not done["skipped"]
    acr = [np.mean([row["radius"] * row["correct"] for row in r]) for r in rows]
    cell = first["cells"][0]
    assert cell["ours"] == pytest.approx(np.mean(acr)) and cell["deviation"] == pytest.approx(np.std(acr, ddof=1))
    assert cell["paper"] == 1.553 and first["cells"][1]["paper"] == 99.2
    assert first["difference"]["difference"] == pytest.approx(cell["gap"]) and not first["difference"]["paired"]


def test_a_dry_run_tells_what_and_how_long_and_does_nothing(tmp_path):
    done = smoothcert("reproduce", "table10", "--dry-run", "--scale", "0.1", cwd=tmp_path)
    assert done.returncode == 0 and not list(tmp_path.iterdir())
    assert done.stdout.count("0 of 9 epochs done") == 9 and "n = 10,000, every 10" in done.stdout
    assert "9 runs, about" in done.stdout and "reduced run, scale 0.1" in done.stdout
    plan = json.loads(smoothcert("reproduce", "7", "--dry-run", "--json", cwd=tmp_path).stdout)
    assert len(plan) == 18 * 5 and plan[0]["certification"]["n"] == 100_000  # table 7 is of five seeds
    assert plan[0]["training_hours"] == pytest.approx(90 * 60_000 * 0.38e-3 / 3600)


def test_what_lacks_data_is_skipped_and_named(tmp_path):
    assert "data fetch mnist" in fails("reproduce", "mnist/gaussian/0.50", "--data", "nowhere", cwd=tmp_path)
    assert not (tmp_path / "runs").exists()
    done = smoothcert("reproduce", "mnist/gaussian/*", "--data", "nowhere", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout.count("skipped mnist-gaussian-") == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["3"], "smoothcert cost"),
        (["12"], "no table 12"),
        (["figure3"], "figure 3"),
        (["mnist/gausian"], "smoothcert recipes"),
        (["6", "--seeds", "a"], "--seeds"),
        (["6", "--scale", "2"], "--scale"),
        (["6", "--set", "lrr=2"], "did you mean lr"),
    ],
)
def test_a_wrong_call_gets_one_clear_line(tmp_path, arguments, message):
    assert message in fails("reproduce", *arguments, "--dry-run", cwd=tmp_path)


def test_tables_figures_and_patterns_name_recipes_once():
    assert [len(items(t)) for t in ("1", "table2", "Table 4", "6", "8", "9", "10", "11")] == [
        22, 6, 12, 18, 9, 9, 9, 21,
    ]  # fmt: skip
    assert len(items("figure4")) == 25 and len(items("fig5")) == 18 and len(items("figure1")) == 7
    (gaussian,) = (item for item in items("figure4") if item.name == "mnist/gaussian/1.00")
    assert [row.name for row in gaussian.rows] == ["8:1", "10:1"]
    (item,) = items("ablation/m/2/0.50")
    assert item.name == "mnist/consistency/0.50" and [row.name for row in item.rows] == ["6:8", "7:5", "9:4"]
    assert len(items("mnist/*/0.50")) == 6 and all(item.rows for item in items("mnist/*/0.50"))
    (own,) = items("mnist/consistency-fast/0.50")
    assert own.rows == ()


def certified(radii, n=100_000, **about):
    """10,000 MNIST images, all correct, that have these radii in turn."""
    header = {"n": n, "selected": 10_000, "recipe": to_dict(find("mnist/gaussian/0.50")), **about}
    index, radius = np.arange(10_000), np.resize(np.array(radii, np.float64), 10_000)
    zeros = np.zeros(10_000, np.int64)
    header |= {"noise": {"kind": "gaussian", "sigma": 0.5}, "alpha": 0.001, "n0": 100}
    return Results("run", index, zeros, zeros, radius, np.ones(10_000, bool), header)


def test_a_row_has_the_one_verdict_and_its_cells_have_their_gaps():
    row, one = paper.find("7:2"), certified([1.5, 1.61])  # 1.5581 ± 0.0016 and no accuracies
    spread = [replace(one, radius=one.radius + s) for s in (-0.1, 0.1)]
    found = compare(row, spread, [0, 1])
    (cell,) = found.cells
    assert found.verdict == judge(spread, row) and found.verdict.word == "inconclusive"
    assert cell.standard_error == pytest.approx(0.055 / 100, rel=1e-3)
    assert cell.deviation == pytest.approx(0.1 * np.sqrt(2)) and cell.gap == pytest.approx(1.555 - 1.5581, abs=1e-3)
    reduced = to_dict(scaled(find("mnist/gaussian/0.50"), 0.5))
    found = compare(row, [one, certified([1.558], recipe=reduced)], [0, 1])
    assert found.verdict.word == "reduced run" and found.reductions == ("scale 0.5: 45 of 90 epochs",)
    assert compare(row, [one], [0], changed=["lr=1"]).verdict.word == "changed recipe"


def test_a_figure_is_drawn_and_its_panels_are_marked(tmp_path):
    lines = []
    runs = [replace(certified([1.0, 1.5]), name=name) for name in ("one", "two")]
    Reproduce("figure5", out=tmp_path)._draw(runs, lines.append)
    assert (tmp_path / "figure5.pdf").read_bytes().startswith(b"%PDF") and lines == [str(tmp_path / "figure5.pdf")]
    Reproduce("figure1", out=tmp_path)._draw(runs, lines.append)
    assert "figure gaps" in lines[-1]


def test_recipes_are_listed_with_the_papers_acr_and_cost(tmp_path):
    out = smoothcert("recipes", "mnist/*/0.50", cwd=tmp_path).stdout
    assert "1.657/1.655" in out and "train h" in out and "one core" in out and out.count("lenet") == 9
    assert "ablation/m/2/0.50" in smoothcert("recipes", "ablation/m", cwd=tmp_path).stdout
    listed = json.loads(smoothcert("recipes", "--json", cwd=tmp_path).stdout)
    assert {entry["recipe"] for entry in listed} == {name for name in RECIPES if not name.endswith("/text")}
    entry = next(e for e in listed if e["recipe"] == "cifar10/smoothadv/0.50")
    assert entry["paper"] == {"1:10": 0.689} and entry["cost"]["passes"] == 150 * 50_000 * 88


def test_what_show_prints_can_be_trained(tmp_path):
    out = smoothcert("show", "ablation/lambda/5", "--set", "lbd=7", "--scale", "0.1", cwd=tmp_path).stdout
    assert "# REDUCED, scale 0.1" in out and "# CHANGED, lbd=7" in out and "ACR 1.740; % at 0.00: 95.0" in out
    assert from_dict(tomllib.loads(out)) == scaled(override(find("ablation/lambda/5"), ["lbd=7"]), 0.1)
    about = json.loads(smoothcert("show", "imagenet/consistency/1.00", "--json", cwd=tmp_path).stdout)
    assert about["certification"]["every"] == 100 and about["printed"][0]["acr"] == 0.982
    shown = smoothcert("show", "mnist/gaussian/0.50", "--set", "data=fake", "--scale", "0.01", cwd=tmp_path)
    (tmp_path / "mine.toml").write_text(shown.stdout)
    done = smoothcert("train", "mine.toml", "--set", "lr=0.02", "--set", "batch=64", cwd=tmp_path)
    assert done.returncode == 0, done
    assert "runs/mine+lr=0.02+batch=64-seed0  1 epochs" in done.stdout and "reduced run (scale 0.01" in done.stdout
    with pytest.raises(InputError):
        from_dict({"reduced": "x"})
