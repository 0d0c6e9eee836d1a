"""kill -9 at random instants, in small: `python -m fuzz.kill` does it 200 times."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(("what", "said"), [("training", "bit-identical"), ("certification", "each once")])
def test_a_killed_command_ends_as_if_nothing_had_happened(what, said):
    command = [sys.executable, "-m", "fuzz.kill", "--kills", "3", "--only", what, "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in done.stdout and "survived" in done.stdout
