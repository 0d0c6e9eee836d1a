"""Many logs in one command: labels, and logs that cannot be read."""

import json
import re

import pytest

from tests.cli.running import fails, smoothcert
from tests.figures.picture import words_on

ROWS = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t7\t7\t{}\t1\t0:00:01\n5\t2\t-1\t0.0\t0\t0:00:01\n"
A = "mnist/cohen/noise_0.50_1"
B = "mnist/consistency/cohen/num_2/lbd_5.0/eta_0.5/noise_0.50_1"
C = "mnist/consistency/cohen/num_2/lbd_5.0/eta_0.5/noise_1.00_1"
EMPTY, SUMMARY = "mnist/cohen/noise_0.50_2", "mnist/cohen/noise_0.50_1_acc"
COMMANDS = (["table"], ["plot"], ["figure", "curves"], ["figure", "p-a"], ["report"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    texts = {A: ROWS.format(0.7), B: ROWS.format(0.8), C: ROWS.format(0.9)}
    texts |= {EMPTY: ROWS.splitlines()[0] + "\n", SUMMARY: "0.00000\t0.77840\n"}
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def drawn(folder, *arguments):
    """The words of a figure."""
    assert smoothcert(*arguments, "--out", "f.svg", cwd=folder).returncode == 0
    return words_on(folder / "f.svg")


def test_a_table_tells_published_logs_apart(folder):
    found = json.loads(smoothcert("table", A, B, C, "--format", "json", cwd=folder).stdout)
    assert [s["name"] for s in found] == [
        "mnist gaussian σ=0.50 #1",
        "mnist consistency λ=5 m=2 η=0.5 σ=0.50 #1",
        "mnist consistency λ=5 m=2 η=0.5 σ=1.00 #1",
    ]
    assert "$\\lambda$=5 m=2 $\\eta$=0.5 $\\sigma$=1.00 \\#1" in (
        smoothcert("table", A, C, "--format", "latex", cwd=folder).stdout
    )


def test_a_figure_has_a_panel_per_noise(folder):
    words = drawn(folder, "figure", "curves", A, B, C)
    assert {"σ = 0.50", "σ = 1.00"} <= set(words)
    assert [w for w in words if "ACR" in w] == [
        "gaussian  (ACR 0.350)",
        "consistency, λ = 5  (ACR 0.400)",
        "consistency, λ = 5  (ACR 0.450)",
    ]


@pytest.mark.parametrize("command", COMMANDS[1:4])
def test_legends_have_the_labels_that_were_given(folder, command):
    words = drawn(folder, *command, A, B, "--label", "_base $1$", "ours, new")
    found = [w.split("  (")[0].strip().replace("\\$", "$") for w in words if re.search(r"\((ACR|abst)", w)]
    assert found == ["_base $1$", "ours, new"]


def test_labels_in_tables_panels_and_the_page(folder):
    found = json.loads(smoothcert("table", A, B, "--label", "same", "same", "--format", "json", cwd=folder).stdout)
    assert [s["name"] for s in found] == ["same", "same"]
    assert smoothcert("report", A, B, "--label", "T<1>", "ours", "--paper", "6:7", cwd=folder).returncode == 0
    html = (folder / "report.html").read_text()
    assert "T&lt;1&gt; beside table 6" in html and "mnist gaussian" not in html
    words = drawn(folder, "figure", "ablation", "--loss", A, "--m", A, B, "--label", "one", "two", "three")
    assert [w.split("  (")[0] for w in words if "ACR" in w] == ["one", "two", "three"]


@pytest.mark.parametrize("command", COMMANDS)
def test_logs_that_cannot_be_read_are_named_and_left_out(folder, command):
    done = smoothcert(*command, A, EMPTY, SUMMARY, B, "nowhere", cwd=folder)
    assert done.returncode == 1 and done.stdout
    lines = done.stderr.splitlines()
    assert all(line.startswith("smoothcert: left out: ") for line in lines)
    for line, (path, why) in zip(
        lines,
        ((EMPTY, "no certified image"), (SUMMARY, "not a certification log"), ("nowhere", "no such")),
        strict=True,
    ):
        assert path in line and why in line


def test_labels_and_printed_rows_count_logs_that_were_left_out(folder):
    call = ["table", EMPTY, B, "--label", "empty", "full", "--format", "json"]
    done = smoothcert(*call, cwd=folder)
    assert done.returncode == 1 and [s["name"] for s in json.loads(done.stdout)] == ["full"]
    assert smoothcert("report", EMPTY, A, "--paper", "none", "6:7", "--out", "p.html", cwd=folder).returncode == 1
    assert "beside table 6, Gaussian, σ=0.50" in (folder / "p.html").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_logs_without_an_image_or_a_label_too_few_get_one_line(folder, command):
    assert "no certified image" in fails(*command, EMPTY, cwd=folder)
    assert "and 1 other logs cannot be read" in fails(*command, EMPTY, SUMMARY, cwd=folder)
    assert "--label names 1 of 2 logs" in fails(*command, A, B, "--label", "one", cwd=folder)
    assert "at least one" in fails(*command, cwd=folder)


def test_two_logs_of_one_name_are_compared(folder):
    for place in ("one", "two"):
        (folder / place).mkdir()
        (folder / place / "mine.tsv").write_text(ROWS.format(0.7))
    assert "A  one/mine\nB  two/mine\n" in smoothcert("compare", "one/mine.tsv", "two/mine.tsv", cwd=folder).stdout
