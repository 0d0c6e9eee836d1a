"""The published results: they follow from the logs in the repository, and the logs from their votes."""

import gzip
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from results.add import add
from results.build import build
from results.equal_votes import at_equal_votes
from results.run import find_runs
from results.tables import CHEAP, minus

from smoothcert.analysis import Results
from smoothcert.analysis.fewer_votes import with_fewer_votes
from smoothcert.analysis.verdict import judge
from smoothcert.certification.verify import verify
from smoothcert.errors import InputError
from smoothcert.interchange.weights import digest, load_weights
from smoothcert.noise import Gaussian
from smoothcert.paper.published import Published, published
from smoothcert.procedures.bound import PAIR
from smoothcert.procedures.fixed import Fixed
from smoothcert.recipes import find_recipe, reduced_recipe, to_dict
from smoothcert.records.header import UNSTATED
from smoothcert.records.log import read_certification, write_log

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
RUNS = find_runs(RESULTS / "runs")
EACH = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.folder.name)


def test_tables_and_figures_are_those_of_the_logs(tmp_path):
    readme = shutil.copy(ROOT / "README.md", tmp_path / "top.md")
    build(RESULTS, tmp_path, readme)
    assert readme.read_text() == (ROOT / "README.md").read_text(), "run `make results`"
    for name in ("README.md", "leaderboard.md", "cells.csv", "mnist.png", "cifar10.png"):
        assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes(), f"{name}: run `make results`"


def test_a_difference_is_that_of_the_rows_and_none_from_itself():
    def radii(run):
        lines = gzip.decompress((run.folder / "certify.jsonl.gz").read_bytes()).splitlines()
        rows = [json.loads(line) for line in lines[1:]]
        return {row["index"]: row["radius"] * row["correct"] for row in rows}

    at = {run.method: run for run in RUNS if (run.data, run.sigma) == ("mnist", 0.5)}
    one, other = at["consistency"], at["gaussian"]
    ours, theirs = radii(one), radii(other)
    mean = sum(ours[i] - theirs[i] for i in ours) / len(ours)
    assert mean > 0.1 and minus([other])(one).startswith(f"{mean:+.3f} ± ")
    assert minus([other])(other) == "–"


def test_no_run_differs_from_its_row_and_none_agrees_with_that_of_another_method():
    runs = [run for run in RUNS if run.data == "mnist" and run.method in CHEAP]
    own, others = Counter(run.verdict.word for run in runs), Counter()
    for run in runs:
        assert run.verdict.paired
        rows = [other._row(7) for other in runs if other.sigma == run.sigma and other.method != run.method]
        others += Counter(judge([run.results], row).word for row in rows)
    assert own == {"agrees": 2, "inconclusive": 7} and others == {"differs": 15, "inconclusive": 3}


def ours_of(radius, n, every=1):
    """A log of ours of every so-manieth image, with these radii; 0 is wrong."""
    index = np.arange(0, 10_000, every)
    label, correct = np.zeros_like(index), radius[index] > 0
    header = replace(UNSTATED, procedure=Fixed(Gaussian(0.5), 100, n, 0.001))
    return Results("ours", index, label, label, radius[index], correct, header)


def test_at_equal_votes_a_log_is_equal_to_itself_and_a_gain_is_found():
    authors = published("cifar10/consistency/0.50")
    theirs = Published(1, authors.index, np.zeros_like(authors.label), authors.contribution)
    fewer = with_fewer_votes(theirs.contribution, 0.5, 100_000, 1000)
    same = at_equal_votes(ours_of(fewer, 1000), theirs, 0.5)
    assert same.difference == same.standard_error == 0 and same.everywhere == same.theirs == fewer.mean()
    assert 0.74 < fewer.mean() / theirs.contribution.mean() < 0.77  # shared/STATISTICS: 0.754 for this log
    better = at_equal_votes(ours_of(np.where(fewer > 0, fewer + 0.01, 0), 1000, every=20), theirs, 0.5)
    certified = (fewer[::20] > 0).mean()
    assert better.difference == pytest.approx(0.01 * certified) and better.theirs == pytest.approx(fewer[::20].mean())
    assert better.interval[0] < 0.01 * (fewer > 0).mean() < better.interval[1]


def test_logs_of_other_images_or_more_votes_are_not_compared():
    authors = published("cifar10/consistency/0.50")
    with pytest.raises(InputError, match="other images"):
        at_equal_votes(ours_of(authors.contribution, 1000), authors, 0.5)
    with pytest.raises(InputError, match="200000 votes"):
        at_equal_votes(ours_of(authors.contribution, 200_000), authors, 0.5)


@EACH
def test_every_certificate_follows_from_its_votes(run):
    logs = [*run.folder.glob("*.jsonl.gz")]
    assert run.log in logs
    for log in logs:
        found = verify(log)
        assert found.rows >= 50 and not found.problems


@pytest.mark.parametrize("run", [run for run in RUNS if run.rough is not None], ids=lambda run: run.folder.name)
def test_a_log_of_all_images_has_each_of_them_once(run):
    assert sorted(run.rough.index) == [*range(10_000)]


@EACH
def test_it_was_trained_by_the_recipe_of_its_name(run):
    name = f"{run.data}/{run.method}/{run.sigma:.2f}"
    scale = re.search(r"-reduced([\d.]+)-seed", run.folder.name)
    wanted = reduced_recipe(find_recipe(name), float(scale[1]) if scale else 1.0)
    recipe = json.loads((run.folder / "recipe.json").read_text())
    begun = {"init": recipe["init"]} if "starts_from" in recipe else {}  # which the recipe of its name leaves open
    assert recipe == begun | json.loads(json.dumps(to_dict(wanted) | {"seed": run.seed}))
    assert to_dict(run.results.header.recipe) == recipe


def test_kept_weights_are_small_and_those_that_were_certified():
    for run in RUNS:
        model = run.folder / "model.safetensors"
        if model.exists():
            assert model.stat().st_size < 8e6
            assert digest(load_weights(model)[0]) == run.results.header.model.sha256


@pytest.fixture
def finished(tmp_path):
    """A published run as it was before it was packed, closed as logs are now, under the name of another seed."""
    run = RUNS[0]
    folder = tmp_path / run.folder.name.replace(f"seed{run.seed}", "seed9")
    folder.mkdir()
    for name in ("recipe.json", "train.jsonl"):
        shutil.copy(run.folder / name, folder)
    write_log(folder / "certify.jsonl", read_certification(run.log))
    return folder


def test_a_finished_run_is_published_with_all_its_logs(tmp_path, finished):
    shutil.copy(finished / "certify.jsonl", finished / "all.jsonl")
    add(finished, weights=False, to=tmp_path / "runs")
    (run,) = find_runs(tmp_path / "runs")
    assert run.seed == 9 and gzip.decompress(run.log.read_bytes()) == (finished / "certify.jsonl").read_bytes()
    assert run.rough is not None and not (run.folder / "model.safetensors").exists()


@pytest.mark.parametrize("cut", [1, 2], ids=["no closing row", "no last image"])
@pytest.mark.parametrize("name", ["certify.jsonl", "all.jsonl"])
def test_an_unfinished_run_is_not_published(tmp_path, finished, name, cut):
    lines = (finished / "certify.jsonl").read_bytes().splitlines(keepends=True)
    (finished / name).write_bytes(b"".join(lines[:-cut]))
    with pytest.raises(InputError, match=f"{name}: not one finished log"):
        add(finished, weights=False, to=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_every_log_of_a_way_is_finished_and_follows_from_its_votes():
    logs = sorted((RESULTS / "ways").glob("*.jsonl.gz"))
    assert len(logs) >= 12
    for log in logs:
        found = verify(log)
        assert found.rows >= 50 and not found.problems


def test_a_log_that_was_not_made_as_the_authors_made_theirs_is_not_compared():
    authors = published("cifar10/consistency/0.50")
    ours = ours_of(authors.contribution, 1000)
    for how in (Fixed(Gaussian(0.5), 100, 1000, 0.2), Fixed(Gaussian(0.5), 100, 1000, 0.001, PAIR)):
        with pytest.raises(InputError, match="was not certified as the authors did"):
            at_equal_votes(replace(ours, header=replace(ours.header, procedure=how)), authors, 0.5)
