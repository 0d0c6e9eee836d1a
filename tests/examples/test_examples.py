"""The examples work as they are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

from smoothcert import data

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_a_model_and_pictures_of_ones_own(tmp_path):
    x, y = data.load("mnist5k", "test").batch(torch.tensor([7]))
    Image.fromarray((255 * x[0, 0]).round().byte().numpy()).save(tmp_path / "digit.png")
    command = [sys.executable, str(EXAMPLES / "own_model.py"), "digit.png"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.startswith(f"digit.png: class {int(y)} within l2 radius 1.")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_the_cells_of_a_notebook(notebook, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {}
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), notebook.name, "exec"), names)
            shown = "".join("".join(output.get("text", ())) for output in cell["outputs"])
            assert words(capsys.readouterr().out) == words(shown), "run the notebook again and save it"


def words(text):
    """Numbers of a training differ from machine to machine."""
    return [word for word in text.split() if not any(c.isdigit() for c in word)]


def test_every_example_is_listed():
    listed = (EXAMPLES / "README.md").read_text()
    assert all(f"({file.name})" in listed for file in EXAMPLES.iterdir() if file.name != "README.md" and file.is_file())
