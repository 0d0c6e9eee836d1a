"""docs/training.md: the loss and the network of one's own run as printed, and are those of examples/."""

import re
import subprocess
import sys
from pathlib import Path

from tests.cli.running import smoothcert

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "training.md").read_text()
SECTION = PAGE[PAGE.index("## A loss of your own") :]
SHORT = ["--set", "data=fake", "epochs=1", "--device", "cpu"]


def block(language):
    return re.findall(rf"```{language}\n(.*?)```", SECTION, re.S)[0]


def test_the_printed_files_train_and_certify(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_loss", raising=False)
    code = block("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    (tmp_path / "own_loss.py").write_text(code)
    (tmp_path / "own_loss.toml").write_text(block("toml"))
    done = smoothcert("train", "own_loss.toml", *SHORT, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done
    done = smoothcert("certify", "run", "--every", "10", "--n", "100", cwd=tmp_path)
    assert done.returncode == 0 and "4 of 4 images" in done.stdout, done
    del sys.modules["own_loss"]


def test_the_example_runs_as_a_script_and_its_run_is_found_again(tmp_path, monkeypatch):
    """Its parts are of __main__ there, and of own_loss in every other process."""
    for name in ("own_loss.py", "own_loss.toml"):
        text = (ROOT / "examples" / name).read_text().replace("mnist5k", "fake").replace("epochs=5", "epochs=1")
        (tmp_path / name).write_text(text)
    done = subprocess.run([sys.executable, "own_loss.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and 0 < float(done.stdout) < 2, done
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_loss", raising=False)
    for command in (["certify", "runs/own_loss", "--every", "10", "--n", "1000"], ["verify", "runs/own_loss"]):
        done = smoothcert(*command, cwd=tmp_path)
        assert done.returncode == 0 and not done.stderr, done
    same = smoothcert("train", "own_loss.toml", "--set", "epochs=1", "--out", "runs/own_loss", cwd=tmp_path)
    assert same.returncode == 0, same  # the recipe of the file is the one of the script: nothing is left to do
    del sys.modules["own_loss"]
