"""`smoothcert demo`, which is `make demo`, on tiny images: trains two networks, certifies both and compares them."""

import re
from dataclasses import replace

from smoothcert.analysis import read_results
from smoothcert.analysis.metrics import paired_difference
from smoothcert.data import DATASETS
from smoothcert.recipes import RECIPES
from smoothcert.records.run_folder import RunFolder
from tests.cli.running import smoothcert
from tests.figures.picture import is_whole

COMMAND = ["demo", "--n", "100", "--every", "4", "--device", "cpu"]


def test_the_demo_ends_in_the_paired_difference_of_both_runs_and_its_picture(tmp_path, monkeypatch):
    monkeypatch.setitem(DATASETS, "mnist5k", DATASETS["fake"])
    for name in ("mnist5k/gaussian/0.50", "mnist5k/consistency/0.50"):
        monkeypatch.setitem(RECIPES, name, replace(RECIPES[name], epochs=2))
    done = smoothcert(*COMMAND, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    gaussian, consistency = (read_results(tmp_path / "demo" / f"{m}-seed0") for m in ("gaussian", "consistency"))
    assert len(gaussian) == len(consistency) == 10
    difference, error = paired_difference(consistency, gaussian)
    said = re.search(r"Consistency − Gaussian: ACR (\S+) ± (\S+) \(paired, 10 images\)", done.stdout)
    assert said is not None and said.groups() == (f"{difference:+.3f}", f"{error:.3f}")
    assert is_whole(tmp_path / "demo" / "certified-accuracy.png")
    model = RunFolder(tmp_path / "demo" / "gaussian-seed0").model
    before = model.stat().st_mtime_ns
    assert smoothcert(*COMMAND, cwd=tmp_path).stdout == done.stdout  # called again, nothing is done again
    assert model.stat().st_mtime_ns == before
