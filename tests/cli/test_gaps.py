"""Figure 1 from runs: the gaps of one image under the same noise for every run."""

import numpy as np
import pytest
import torch

from smoothcert.data import load
from smoothcert.models import LeNet, frozen
from smoothcert.noise import Gaussian
from smoothcert.noise.stream import generator_for
from tests.cli.running import fails, smoothcert
from tests.figures.picture import is_whole

FAKE = ["--dataset", "fake", "--sigma", "0.25"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gaps")
    torch.save({"arch": "lenet", "state_dict": LeNet(10).state_dict()}, folder / "a.pth")
    assert smoothcert("import", "a.pth", "--out", "run", *FAKE, cwd=folder).returncode == 0
    return folder


def test_gaps_are_those_computed_by_hand_and_can_be_drawn(folder):
    done = smoothcert("gaps", "run", "--image", "7", "--draws", "300", cwd=folder)
    assert done.returncode == 0 and "of 300 draws misclassified" in done.stdout, done
    found = np.load(folder / "gaps.npz")["run"]
    x, y = load("fake", "test").batch(torch.tensor([7]))
    f = LeNet(10)
    f.load_state_dict(torch.load(folder / "a.pth", weights_only=True)["state_dict"])
    generator = generator_for(torch.device("cpu"), 0, 7, "gaps")
    expected = []
    for size in (250, 50):
        p = frozen(f)(x + Gaussian(0.25).sample_like(torch.empty(size, 1, 28, 28), generator)).log_softmax(1)
        others = p.clone()
        others[:, y[0]] = -torch.inf
        expected.append((p[:, y[0]] - others.max(1).values).detach())
    assert found == pytest.approx(torch.cat(expected).numpy(), abs=1e-4)
    assert smoothcert("figure", "gaps", "gaps.npz", "--out", "gaps.png", cwd=folder).returncode == 0
    assert is_whole(folder / "gaps.png")


def test_a_wrong_call_gets_one_clear_line(folder):
    assert "at least one" in fails("gaps", cwd=folder)
    assert "0 … 39" in fails("gaps", "run", "--image", "40", cwd=folder)
    assert "--draws" in fails("gaps", "run", "--draws", "0", cwd=folder)
    assert "same name" in fails("gaps", "run", "run", cwd=folder)
