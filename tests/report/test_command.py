"""The command that a page prints makes the same log again."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from smoothcert.analysis import read_results
from smoothcert.noise import GridGaussian, Laplace
from smoothcert.recipes import RECIPES
from smoothcert.records.header import UNSTATED
from smoothcert.report.command import certify_command
from tests.cli.running import smoothcert
from tests.report.nearest import certified

KINDS = [
    {},
    {"noise": GridGaussian(2.0), "every": 1, "start": 10, "stop": 20, "seed": 7},
    {"noise": Laplace(0.7), "procedure": "curve", "radii": (0.0, 0.5), "label_aware": True},
    {"procedure": "adaptive", "bound": "pair", "alpha": 0.01},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_it_makes_the_same_log_again(tmp_path, options):
    header = read_results(certified(tmp_path / "a.jsonl", **options)).header
    words = shlex.split(certify_command(header))
    done = smoothcert(*words[1:], "--out", tmp_path / "b.jsonl", cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    again = read_results(tmp_path / "b.jsonl")
    assert again.header == header and again.radius.tolist() == read_results(tmp_path / "a.jsonl").radius.tolist()


def test_folders_are_left_out_and_a_run_is_named_by_its_place(tmp_path):
    header = read_results(certified(tmp_path / "a.jsonl", seed="secret")).header
    said = {**header.model.said, "source": "/home/me/my nets/best.pth.tar", "normalization": "center"}
    checkpoint = replace(header, model=replace(header.model, name="lenet", said=said))
    command = certify_command(checkpoint)
    assert command.startswith("smoothcert certify best.pth.tar --arch lenet --normalization center --sigma 2.0 ")
    assert "--seed secret" in command
    run = certify_command(replace(header, recipe=RECIPES["mnist/gaussian/0.50"]))
    assert run.startswith("smoothcert certify RUN --sigma 2.0 ")
    hostile = replace(header, model=replace(header.model, name="$(reboot)"))
    assert "'$(reboot)'" in certify_command(hostile)
    assert certify_command(UNSTATED) is None
