"""report, figure, compare and export-tsv from the command line, on our logs and on TSV logs alike."""

import json
import re

import numpy as np
import pytest

from smoothcert.analysis import read_results
from smoothcert.recipes import RECIPES, to_dict
from tests.analysis.made import random_results, write_log
from tests.cli.running import fails, smoothcert
from tests.figures.picture import is_whole, words_on


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run folder, a log of other noise, and TSV logs, all of one made-up test set."""
    folder = tmp_path_factory.mktemp("logs")
    (folder / "run").mkdir()
    recipe = to_dict(RECIPES["mnist/gaussian/0.50"])
    write_log(folder / "run" / "certify.jsonl", random_results(name="run"), recipe=recipe)
    rows = [{"epoch": e, "loss": 1 / e, "seconds": 2.0, "peak_memory_process": 10**9} for e in (1, 2)]
    (folder / "run" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_log(folder / "l1.jsonl", random_results(name="l1", about={"noise": {"kind": "laplace", "b": 0.3}}))
    for seed, name in ((1, "mnist_consistency_lambda5_sigma0.50"), (2, "mnist_consistency_lambda5_m4_sigma0.50")):
        write_log(folder / "made.jsonl", random_results(seed=seed))
        assert smoothcert("export-tsv", "made.jsonl", "--out", f"{name}.tsv", cwd=folder).stdout == f"{name}.tsv\n"
    return folder


TSV = "mnist_consistency_lambda5_sigma0.50.tsv"
OTHER = "mnist_consistency_lambda5_m4_sigma0.50.tsv"


def test_a_report_of_a_run_and_a_tsv_log(folder):
    done = smoothcert("report", "run", TSV, "--out", "deep/r.html", "--title", "T & <b>", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "deep/r.html\n", "")
    html = (folder / "deep" / "r.html").read_text()
    assert "T &amp; &lt;b&gt;" in html and "What training cost" in html and "1.00 GB" in html
    assert "beside table 6, Gaussian, σ=0.50" in html and "beside table 6, Gaussian + Consistency" in html


def test_the_printed_row_can_be_named(folder):
    assert smoothcert("report", "l1.jsonl", "run", "--paper", "1:9", "none", cwd=folder).returncode == 0
    html = (folder / "report.html").read_text()
    assert "beside table 1, Gaussian + Consistency (λ=10), σ=0.50" in html and "beside table 6" not in html


def test_pictures_come_from_the_very_data_set_of_the_log(folder):
    from smoothcert.data import load

    data = load("fake", "test")
    about = {"name": "fake", "split": "test", "images": len(data), "fingerprint": data.fingerprint}
    made = random_results(images=len(data), name="fake")
    write_log(folder / "f.jsonl", made, data=about)
    assert smoothcert("report", "f.jsonl", "--out", "f.html", cwd=folder).returncode == 0
    assert "data:image/png;base64," in (folder / "f.html").read_text()
    write_log(folder / "g.jsonl", made, data={**about, "fingerprint": "other"})
    assert smoothcert("report", "g.jsonl", "--out", "g.html", cwd=folder).returncode == 0
    assert "data:image/png;base64," not in (folder / "g.html").read_text()


@pytest.mark.parametrize(
    ("kind", "legends"),
    [
        ("curves", ["consistency, λ = 5, m = 2", "consistency, λ = 5, m = 4"]),
        ("ablation", ["m = 2", "m = 4"]),
        ("p-a", ["mnist consistency λ=5 σ=0.50", "mnist consistency λ=5 m=4 σ=0.50"]),
    ],
)
def test_a_figure_names_every_log_in_its_legend(folder, kind, legends):
    done = smoothcert("figure", kind, TSV, OTHER, "--out", f"{kind}.svg", cwd=folder)
    assert done.stdout == f"{kind}.svg\n", done
    found = [word.split("  (") for word in words_on(folder / f"{kind}.svg") if "  (" in word]
    assert [name for name, _ in found] == legends
    assert all(re.fullmatch(r"ACR 0\.\d{3}\)|abstained \d\.\d %\)", number) for _, number in found)


def test_figures_of_named_ablations_and_of_gaps_are_whole_pictures(folder):
    assert smoothcert("figure", "ablation", "--loss", "run", TSV, "--m", OTHER, cwd=folder).returncode == 0
    np.savez(folder / "gaps.npz", consistency=np.linspace(-1, 4, 100), gaussian=np.linspace(-2, 3, 100))
    assert smoothcert("figure", "gaps", "gaps.npz", "--out", "gaps.png", cwd=folder).returncode == 0
    assert is_whole(folder / "ablation.pdf") and is_whole(folder / "gaps.png")


def test_a_comparison_is_over_the_images_in_common_with_its_interval(folder):
    done = smoothcert("compare", "run", TSV, cwd=folder)
    assert done.returncode == 0 and "200 images in common" in done.stdout and "McNemar" in done.stdout
    assert "note: mnist consistency λ=5 σ=0.50 is a TSV log" in done.stdout
    found = json.loads(smoothcert("compare", "run", TSV, "--json", "--radii", "0.5", cwd=folder).stdout)
    assert found["images"] == 200 and found["n"] == [1000, None] and len(found["accuracy"]) == 1
    low, high = found["acr"]["t_interval"]
    assert low < found["acr"]["difference"] < high


def test_exported_radii_are_exact_or_cut_to_their_digits(folder):
    assert smoothcert("export-tsv", "run", cwd=folder).stdout == "run/certify.tsv\n"
    log, exact = read_results(folder / "run"), read_results(folder / "run" / "certify.tsv")
    assert np.array_equal(exact.radius, log.radius) and np.array_equal(exact.predict, log.predict)
    smoothcert("export-tsv", "run", "--digits", "3", "--out", "cut.tsv", cwd=folder)
    cut = read_results(folder / "cut.tsv").radius
    assert (cut <= log.radius).all() and cut == pytest.approx(log.radius, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report"], "at least one"),
        (["report", "nowhere"], "no such file"),
        (["report", "run", "--paper", "6:99"], "rows 1 to 18"),
        (["report", "run", "--paper", "auto", "6:1"], "names 2 rows for 1 logs"),
        (["figure", "curves"], "at least one"),
        (["figure", "pie", "run"], "pie"),
        (["figure", "curves", "run", "--out", "x.gif"], "png"),
        (["figure", "curves", "run", "--loss", "run"], "figure ablation"),
        (["figure", "gaps", "run", TSV], "one .npz"),
        (["compare", "run"], "two runs"),
        (["compare", "run", "l1.jsonl"], "norms"),
        (["compare", "run", TSV, "--confidence", "2"], "confidence"),
        (["compare", "run", TSV, "--radii", "-1"], "radii"),
        (["export-tsv", TSV], "another file"),
        (["export-tsv", "run", "--digits", "0"], "digits"),
    ],
)
def test_a_wrong_call_gets_one_clear_line(folder, arguments, message):
    assert message in fails(*arguments, cwd=folder)
