"""smoothcert --version: what a bug report needs, at once."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import smoothcert
from tests.cli.running import smoothcert as command

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_it_names_both_versions(option, tmp_path):
    done = command(option, cwd=tmp_path)
    said = re.fullmatch(r"smoothcert (\S+) \(torch (\S+)\)\n", done.stdout)
    assert done.returncode == 0 and said.groups() == (smoothcert.__version__, torch.__version__)


def test_it_does_not_wait_for_torch():
    code = "import sys\nfrom smoothcert.cli import _version\n_version()\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_whoever_cites_it_cites_this_version():
    (version,) = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert version == smoothcert.__version__
