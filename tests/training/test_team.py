"""Several processes train the network that one would have trained, up to the order of float32 sums."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.training.together import RECIPES, amplifies_rounding, normalized, train_after_first, train_all

from smoothcert.errors import InputError
from smoothcert.interchange.weights import load_weights
from smoothcert.machine.processes import Place, place
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log
from smoothcert.training.build_network import build_network
from smoothcert.training.team import Processes, Team

ROOT = Path(__file__).parents[2]


def torchrun(processes, *arguments):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes), *arguments]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(map(str, command), cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[:3000]
    return done


def test_three_processes_train_what_one_does(tmp_path):
    together = tmp_path / "together"
    together.mkdir()
    torchrun(3, "-m", "tests.training.together", together)
    for rank in range(3):  # in float64: forward, backward and running statistics, against torch's own layer
        torch.testing.assert_close(torch.load(together / f"norm{rank}.pt"), normalized(Team()), atol=1e-12, rtol=1e-12)
    alone = tmp_path / "alone"
    train_all(alone, Team())
    train_after_first(alone, Team())
    with_first = [RunFolder(folder / "after first") for folder in (alone, together)]
    expected, found = (load_weights(run.first_votes)[0]["counts"] for run in with_first)
    assert (expected - found).abs().sum() <= 4  # a vote or two may lie on the boundary, to within rounding
    expected, found = (load_weights(run.model)[0] for run in with_first)
    for key in expected:
        torch.testing.assert_close(found[key], expected[key], atol=2e-5, rtol=2e-4)
    for name in RECIPES:
        runs = [RunFolder(folder / name) for folder in (alone, together)]
        expected, found = (load_weights(run.model)[0] for run in runs)
        assert expected.keys() == found.keys()
        loose = amplifies_rounding(RECIPES[name])
        for key in () if loose else expected:
            # A step moves weights by far more than this: wrong noise, order or statistics would be seen at once.
            torch.testing.assert_close(found[key], expected[key], atol=2e-5, rtol=2e-4)
        if loose:
            begun = build_network(RECIPES[name], 10).state_dict()
            apart, moved = (
                torch.cat(
                    [(one[key] - other[key]).flatten() for key in expected if one[key].is_floating_point()]
                ).norm()
                for one, other in ((found, expected), (expected, begun))
            )
            assert apart < 0.1 * moved, (name, apart / moved)
        rows = [read_training_log(run.training_log)[-1] for run in runs]
        for key in rows[0].keys() - {"seconds", "images_per_second", "peak_memory_process"}:
            if not key.startswith("seconds_"):
                rounding = {"rel": 0.02, "abs": 0.06} if loose else {"rel": 1e-3, "abs": 1e-4}
                assert rows[0][key] == pytest.approx(rows[1][key], **rounding), (name, key)


def test_a_step_is_shared_out_whole():
    shares = [Processes(Place(rank, 3)).share(25) for rank in range(3)]
    assert [(s.start, s.stop) for s in shares] == [(0, 8), (8, 16), (16, 25)]
    assert sum(s.weight for s in shares) == pytest.approx(1)
    with pytest.raises(InputError, match="4 processes cannot share a step of 3 images"):
        Processes(Place(0, 4)).share(3)


def test_torchrun_says_which_process_this_is_and_half_an_answer_is_refused(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert place() == Place(0, 1, 0)
    monkeypatch.setenv("WORLD_SIZE", "8")  # left over from something else: not torchrun's doing
    assert place() == Place(0, 1, 0)
    for name, value in {"RANK": "5", "LOCAL_RANK": "1", "MASTER_ADDR": "a", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert place() == Place(5, 8, 1)
    for wrong in ("8", "-1", "x"):
        monkeypatch.setenv("RANK", wrong)
        with pytest.raises(InputError, match="unset them"):
            place()
