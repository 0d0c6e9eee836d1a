"""recipes, show, train --set --scale, and reproduce from a plan to a verdict, reduced and on fake data."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smoothcert import paper
from smoothcert.analysis import Results, read_results
from smoothcert.analysis.beside_paper import beside
from smoothcert.analysis.verdict import judge
from smoothcert.errors import InputError
from smoothcert.recipes import RECIPES, find_recipe, from_dict, override, reduced_recipe, to_dict
from smoothcert.records.header import header_of
from smoothcert.records.log import read_certification
from smoothcert.reproduction.figure import panels
from smoothcert.reproduction.plan import items
from tests.cli.running import fails, smoothcert
from tests.figures.picture import is_whole
from tests.own import PARTS, student_in

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
        log = read_certification(run / "certify.jsonl")
        assert log.header.recipe.reduced and "reduced" in log.name
        assert (log.header.n, log.header.selection.every, log.header.seed) == (3000, 33, seed)
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
    last_row_ends = whole[1].rindex(b"\n", 0, -1)  # before the closing row
    (runs[1] / "certify.jsonl").write_bytes(
        whole[1][: last_row_ends - 30]
    )  # as a crash in the middle of a row leaves it
    command = ["reproduce", "mnist/gaussian/0.50", *FAKE, "--seeds", "0,1"]
    plan = json.loads(smoothcert(*command, "--dry-run", "--json", cwd=folder).stdout)
    assert [(p["trained"], p["certified"], p["selected"]) for p in plan] == [(True, 2, 2), (True, 1, 2)]
    done = json.loads(smoothcert(*command, "--json", cwd=folder).stdout)
    assert [(run / "model.safetensors").stat().st_mtime_ns for run in runs] == trained
    assert (runs[0] / "certify.jsonl").read_bytes() == whole[0]
    rows = [read_certification(run / "certify.jsonl").rows for run in runs]
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


def test_the_seed_of_a_recipe_file_is_its_own_unless_another_is_given(tmp_path):
    (tmp_path / "seven.json").write_text(json.dumps(to_dict(RECIPES["mnist5k/gaussian/0.50"]) | {"seed": 7}))
    for given, seed in (([], 7), (["--seed", "3"], 3)):
        shown = smoothcert("show", "seven.json", *given, cwd=tmp_path).stdout
        assert f"\nseed = {seed}\n" in shown
        quick = ["--set", "data=fake", "epochs=1", "--device", "cpu"]
        assert smoothcert("train", "seven.json", *given, *quick, cwd=tmp_path).returncode == 0
        run = tmp_path / "runs" / f"seven+data=fake+epochs=1-seed{seed}"
        assert json.loads((run / "recipe.json").read_text())["seed"] == seed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["12"], "has no table 12: it has tables 1 to 11"),
        (["figure6"], "has no figure 6: it has figures 1 to 5"),
        (["mnist/gausian"], "smoothcert recipes"),
        (["6", "--seeds", "a"], "--seeds"),
        (["6", "--scale", "2"], "--scale"),
        (["6", "--set", "lrr=2"], "did you mean lr"),
    ],
)
def test_a_wrong_call_gets_one_clear_line(tmp_path, arguments, message):
    assert message in fails("reproduce", *arguments, "--dry-run", cwd=tmp_path)


def test_tables_figures_and_patterns_name_recipes_once():
    sizes = {"1": 22, "table2": 6, "3": 4, "Table 4": 12, "5": 0, "6": 18, "8": 9, "9": 9, "10": 9, "11": 21}
    assert {what: len(items(what)) for what in sizes} == sizes
    assert [len(items(f"figure{number}")) for number in (1, 2, 3, 4, 5)] == [5, 22, 6, 17, 18]
    (gaussian,) = (item for item in items("figure4") if item.name == "mnist/gaussian/1.00")
    assert [row.name for row in gaussian.rows] == ["8:1", "10:1"]
    (item,) = items("ablation/m/2/0.50")
    assert item.name == "mnist/consistency/0.50" and [row.name for row in item.rows] == ["6:8", "7:5", "9:4"]
    assert len(items("mnist/*/0.50")) == 6 and all(item.rows for item in items("mnist/*/0.50"))
    (own,) = items("mnist/consistency-fast/0.50")
    assert own.rows == ()


@pytest.mark.parametrize("what", [*(f"figure{n}" for n in range(1, 6)), *(f"table{n}" for n in range(1, 12))])
def test_every_table_and_figure_of_the_paper_has_a_plan(what, tmp_path):
    done = smoothcert("reproduce", what, "--dry-run", "--json", cwd=tmp_path)
    assert done.returncode == 0 and not list(tmp_path.iterdir())
    plan = json.loads(done.stdout)
    assert {entry["recipe"] for entry in plan} == {item.name for item in items(what)}
    assert all(entry["training_hours"] > 0 for entry in plan)
    trained_only = [entry for entry in plan if entry["certification"] is None]
    assert trained_only == (plan if what == "figure1" else [])
    assert all(entry["certification_hours"] == 0 for entry in trained_only)


def test_figure_1_is_of_five_mnist_networks_that_nobody_certifies():
    recipes = [find_recipe(item.name) for item in items("figure1")]
    assert {(recipe.data, recipe.model) for recipe in recipes} == {("mnist", "lenet")}
    assert len({type(recipe.objective.terms[-1]) for recipe in recipes}) == 4  # SmoothAdv's is Gaussian's


def test_figure_1_ends_in_its_picture_and_the_shares_of_misclassified_draws(tmp_path):
    command = ["reproduce", "figure1", "--set", "data=fake", "batch=64", "m=2", "--scale", "0.0001", "--device", "cpu"]
    done = smoothcert(*command, cwd=tmp_path)
    assert done.returncode == 0, done
    assert not list(tmp_path.glob("runs/*/certify.jsonl")) and len(list(tmp_path.glob("runs/*/model.safetensors"))) == 5
    assert is_whole(tmp_path / "runs" / "figure1-reduced0.0001.pdf")
    again = json.loads(smoothcert(*command, "--json", cwd=tmp_path).stdout)  # from the runs that are there
    shares = again["misclassified"]
    assert list(shares) == ["Consistency", "SmoothAdv", "MACER", "Stability", "Gaussian"]
    assert all(f"{100 * share:.2f}" in done.stdout for share in shares.values()) and again["draws"] == 10_000
    assert "scale 0.0001" in again["reduced"]


def test_table_3_ends_in_what_training_cost(tmp_path):
    small = [
        "--set",
        "model=lenet",
        "data=fake",
        "m=2",
        "normalization=standard",
        "--scale",
        "0.0001",
        "--device",
        "cpu",
    ]
    done = smoothcert("reproduce", "table3", *small, cwd=tmp_path)
    assert done.returncode == 0, done
    assert len(list(tmp_path.glob("runs/*/certify.jsonl"))) == 4
    assert "peak memory" in done.stdout and "Table 3" not in done.stdout  # these are not its networks


def test_a_cost_stands_beside_the_printed_one_with_the_hours_of_the_whole_schedule(tmp_path):
    recipe = reduced_recipe(find_recipe("cifar10/consistency/0.50"), 0.0004)  # one epoch on 6 % of the images
    row = {"epoch": 1, "seconds": 36.0, "seconds_data": 1.0, "seconds_attack": 1.0, "seconds_descent": 34.0}
    row |= {"images_per_second": 1.0, "peak_memory_process": 2**30}
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.json").write_text(json.dumps(to_dict(recipe)))
    (tmp_path / "run" / "train.jsonl").write_text(json.dumps(row) + "\n")
    (entry,) = json.loads(smoothcert("cost", "run", "--json", cwd=tmp_path).stdout)
    assert entry["hours"] == pytest.approx(0.01) and entry["hours_of_whole_schedule"] == pytest.approx(
        0.01 * 150 / 0.06
    )
    assert (entry["paper"]["acr"], entry["paper"]["hours"], entry["hyperparameters"]) == (0.72, 8.7, 2)
    out = smoothcert("cost", "run", cwd=tmp_path).stdout
    line = next(line for line in out.splitlines() if line.startswith("Gaussian + Consistency"))
    assert line.split()[3:] == ["2", "2", "–", "0.720", "1.00", "GiB", "2.9G", "25.0", "8.7"]
    assert "reduced (scale 0.0004: 1 of 150 epochs on 6 % of the images)" in out


def test_table_5_shows_our_settings_beside_the_printed_ones(tmp_path):
    lines = json.loads(smoothcert("reproduce", "table5", "--json", cwd=tmp_path).stdout)
    assert len(lines) == 8 and all(line["equal"] for line in lines)
    assert "256 ε" in smoothcert("reproduce", "table5", cwd=tmp_path).stdout


def certified(radii, n=100_000, **about):
    """10,000 MNIST images, all correct, that have these radii in turn."""
    header = {"n": n, "selected": 10_000, "recipe": to_dict(find_recipe("mnist/gaussian/0.50")), **about}
    index, radius = np.arange(10_000), np.resize(np.array(radii, np.float64), 10_000)
    zeros = np.zeros(10_000, np.int64)
    header |= {"noise": {"kind": "gaussian", "sigma": 0.5}, "alpha": 0.001, "n0": 100}
    return Results("run", index, zeros, zeros, radius, np.ones(10_000, bool), header_of(header))


def test_a_row_has_the_one_verdict_and_its_cells_have_their_gaps():
    row, one = paper.find_row("7:2"), certified([1.5, 1.61])  # 1.5581 ± 0.0016 and no accuracies
    spread = [replace(one, radius=one.radius + s) for s in (-0.1, 0.1)]
    found = beside(spread, row)
    (cell,) = found.cells
    assert found.verdict == judge(spread, row) and found.verdict.word == "inconclusive"
    assert cell.standard_error == pytest.approx(0.055 / 100, rel=1e-3)
    assert cell.deviation == pytest.approx(0.1 * np.sqrt(2)) and cell.gap == pytest.approx(1.555 - 1.5581, abs=1e-3)
    reduced = to_dict(reduced_recipe(find_recipe("mnist/gaussian/0.50"), 0.5))
    found = beside([one, certified([1.558], recipe=reduced)], row)
    assert found.verdict.word == "reduced run" and found.reductions == ("scale 0.5: 45 of 90 epochs",)
    assert beside([one], row, changed=["lr=1"]).verdict.word == "changed recipe"
    other = to_dict(replace(find_recipe("mnist/gaussian/0.50"), lr=5.0, epochs=900))
    found = beside([certified([1.558], recipe=other)], row)
    assert found.verdict.word == "changed recipe" and "lr: 5.0 here, 0.01 in the row's recipe" in found.changed[0]
    seen = {"name": "mnist", "split": "train", "images": 60_000, "fingerprint": "0" * 64}
    assert beside([certified([1.558], data=seen)], row).changed == ("certified on train images",)


def test_a_figure_draws_what_there_is_beside_the_printed_cells():
    runs = {name: replace(certified([1.0, 1.5]), name=name) for name in ("mnist/gaussian/1.00", "ablation/m/4/1.00")}
    (five,) = panels(5, runs)
    assert (five.title, [label for label, _ in five.curves]) == ("σ = 1.00", ["Gaussian"])
    assert five.printed["Gaussian"].name == "6:13"
    four = panels(4, runs)
    assert [(p.title, [label for label, _ in p.curves]) for p in four] == [
        ("loss", ["Gaussian"]),
        ("number of draws m", ["m = 4"]),
        ("weight λ", ["λ = 0"]),
    ]


def test_no_two_curves_of_a_panel_share_a_name():
    for figure in (2, 3, 4, 5):
        everything = {item.name: certified([1.0]) for item in items(f"figure{figure}")}
        for panel in panels(figure, everything):
            labels = [label for label, _ in panel.curves]
            assert len(set(labels)) == len(labels) == len(panel.printed), labels


def test_recipes_are_listed_with_the_papers_acr_and_cost(tmp_path):
    out = smoothcert("recipes", "mnist/*/0.50", cwd=tmp_path).stdout
    assert "1.657/1.655" in out and "train h" in out and "one core" in out and out.count("lenet") == 15
    assert "ablation/m/2/0.50" in smoothcert("recipes", "ablation/m", cwd=tmp_path).stdout
    listed = json.loads(smoothcert("recipes", "--json", cwd=tmp_path).stdout)
    assert {entry["recipe"] for entry in listed} == {name for name in RECIPES if not name.endswith("/text")}
    entry = next(e for e in listed if e["recipe"] == "cifar10/smoothadv/0.50")
    assert entry["paper"] == {"1:10": 0.689} and entry["cost"]["passes"] == 150 * 50_000 * 88


def test_what_show_prints_can_be_trained(tmp_path):
    out = smoothcert("show", "ablation/lambda/5", "--set", "lbd=7", "--scale", "0.1", cwd=tmp_path).stdout
    assert "# REDUCED, scale 0.1" in out and "# CHANGED, lbd=7" in out and "ACR 1.740; % at 0.00: 95.0" in out
    assert from_dict(tomllib.loads(out)) == reduced_recipe(override(find_recipe("ablation/lambda/5"), ["lbd=7"]), 0.1)
    about = json.loads(smoothcert("show", "imagenet/consistency/1.00", "--json", cwd=tmp_path).stdout)
    assert about["certification"]["every"] == 100 and about["printed"][0]["acr"] == 0.982
    shown = smoothcert("show", "mnist/gaussian/0.50", "--set", "data=fake", "--scale", "0.01", cwd=tmp_path)
    (tmp_path / "mine.toml").write_text(shown.stdout)
    done = smoothcert("train", "mine.toml", "--set", "lr=0.02", "--set", "batch=64", cwd=tmp_path)
    assert done.returncode == 0, done
    assert "runs/mine+lr=0.02+batch=64-seed0  1 epochs" in done.stdout and "reduced run (scale 0.01" in done.stdout
    with pytest.raises(InputError):
        from_dict({"reduced": "x"})


RUNS = Path(__file__).parents[2] / "results" / "runs"
PUBLISHED = sorted(path.name for path in RUNS.iterdir())


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_run_is_found_packed_and_without_weights_and_nothing_is_done_again(name, tmp_path, monkeypatch):
    """By the protocol of results/: the recipe's name, every 100th image, n = 100,000."""

    def not_here(*_, **__):
        raise AssertionError("nothing is to be trained, certified or loaded")

    for verb in ("train", "certify_run", "load"):
        monkeypatch.setattr(f"smoothcert.reproduction.reproduce.{verb}", not_here)
    found = re.fullmatch(r"((?:mnist|cifar10)(?:-resnet20)?)-(.+)-([\d.]+?)(?:-reduced([\d.]+))?-seed(\d)", name)
    recipe, scale, seed = "/".join(found.group(1, 2, 3)), found[4], found[5]
    before = {path: path.stat().st_mtime_ns for path in RUNS.rglob("*")}
    every, n = read_protocol(RUNS / name)
    call = ["reproduce", recipe, "--every", every, "--n", n, "--seeds", seed, "--out", RUNS]
    call += ["--scale", scale] if scale else []
    done = json.loads(smoothcert(*call, "--json", cwd=tmp_path).stdout)
    (acr,) = {entry["acr"] for entry in done["unprinted"]} or {row["cells"][0]["ours"] for row in done["rows"]}
    assert acr == pytest.approx(read_results(RUNS / name).acr) and not done["skipped"]
    (entry,) = json.loads(smoothcert(*call, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert entry["trained"] and entry["certified"] == entry["selected"] and entry["training_hours"] == 0
    assert {path: path.stat().st_mtime_ns for path in RUNS.rglob("*")} == before and not list(tmp_path.iterdir())


def read_protocol(run):
    header = read_results(run).header
    return header.selection.every, header.n


def test_a_published_run_says_its_verdict(tmp_path):
    done = smoothcert("reproduce", "mnist/consistency/1.00", "--every", 100, "--out", RUNS, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("found ")
    assert "[7:" in done.stdout and done.stdout.endswith("5 rows: 5 agrees\n")
    done = smoothcert("reproduce", "mnist/consistency-fast/0.50", "--every", 100, "--out", RUNS, cwd=tmp_path)
    assert "in no table of the paper: ACR 1.633 ± 0.046" in done.stdout and "0 rows" not in done.stdout


@pytest.mark.parametrize("other", [["--every", "50"], ["--every", "100", "--n", "5000"], ["--seeds", "1"]])
def test_a_published_run_of_other_settings_is_not_taken_for_it(tmp_path, other):
    said = fails("reproduce", "mnist/consistency/0.50", *other, "--data", "nowhere", "--out", RUNS, cwd=tmp_path)
    assert "nothing could be reproduced" in said and "data fetch mnist" in said


def test_the_protocol_can_be_chosen(tmp_path):
    fake = ["reproduce", "mnist/gaussian/0.50", "--set", "data=fake", "batch=64", "--scale", "0.02", "--device", "cpu"]
    done = smoothcert(*fake, "--every", 20, "--n", 200, "--procedure", "adaptive", cwd=tmp_path)
    assert done.returncode == 0, done
    (log,) = tmp_path.glob("runs/*/certify.jsonl")
    header = read_certification(log).header
    assert (header.n, header.selection.every, header.procedure.name) == (200, 20, "adaptive")
    (entry,) = json.loads(smoothcert(*fake, "--every", 20, "--n", 200, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert entry["certification"] == {"n0": 100, "n": 200, "alpha": 0.001, "every": 20, "procedure": "paper"}
    assert not list(tmp_path.rglob("*.lock"))


def test_a_run_of_code_of_ones_own_is_reproduced_and_done_again_where_that_code_changes(tmp_path):
    with student_in(tmp_path) as student:
        student.write(PARTS)
        own = ["--set", "data=fake", "batch=64", f"model={student.module}:Net", "--scale", "0.01", "--device", "cpu"]
        command = ["reproduce", "mnist/gaussian/0.50", *own]
        for _ in range(2):
            done = smoothcert(*command, cwd=tmp_path)
            assert done.returncode == 0, done
        assert "\ntrain" not in done.stdout and "\ntrained" not in done.stdout, done.stdout
        student.write(PARTS + "\n# another network\n")
        student.forget()
        assert "sources" in fails(*command, cwd=tmp_path)


def test_a_recipe_that_starts_from_another_run_leaves_its_folder_to_the_training(tmp_path, monkeypatch):
    short = override(find_recipe("mnist/gaussian/0.50"), ["data=fake", "batch=64", "epochs=1"])
    monkeypatch.setitem(RECIPES, "fake/first", short)
    monkeypatch.setitem(RECIPES, "fake/second", replace(short, lr=0.005, starts_from="fake/first"))
    command = ["reproduce", "fake/second", "--every", "20", "--n", "200", "--device", "cpu"]
    assert "name its folder with --init" in fails(*command, cwd=tmp_path)
    folder = tmp_path / "runs" / "fake-second-seed0"
    assert not folder.exists()
    for init in ([], ["--init", "runs/fake-first-seed0"]):
        name = "fake/second" if init else "fake/first"
        assert smoothcert("train", name, *init, "--device", "cpu", cwd=tmp_path).returncode == 0
    done = smoothcert(*command, cwd=tmp_path)
    assert done.returncode == 0 and "2 images" in done.stdout, done


def test_a_curve_has_no_acr_and_a_damaged_training_log_is_one_line(tmp_path):
    command = ["reproduce", "mnist5k/gaussian/0.50", *FAKE, "--procedure", "curve", "--n", "200"]
    done = smoothcert(*command, cwd=tmp_path)
    assert done.returncode == 0 and "in no table of the paper: ACR – ± –" in done.stdout, done
    (training_log,) = tmp_path.glob("runs/*/train.jsonl")
    training_log.write_bytes(b"\xff")
    assert "not a training log" in fails(*command, "--dry-run", cwd=tmp_path)
