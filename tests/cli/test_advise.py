"""smoothcert advise, with half-spaces: f = sign(w·(x − ½)), whose radius at x is the margin |w·(x − ½)|."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from smoothcert.certification import advise as module
from smoothcert.certification.advise import advise
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from tests.cli.running import fails, smoothcert

NET = "half_spaces_for_tests"
FACTORY = """import torch
from torch import nn

class HalfSpace(nn.Module):
    def __init__(self, w, threshold=0.5):
        super().__init__()
        self.register_buffer("w", w)
        self.threshold = threshold

    def forward(self, x):
        side = ((x - self.threshold).flatten(1) * self.w).sum(1)
        return torch.stack([side, -side], 1)

def direction(half):
    w = torch.zeros(64)
    w[32 * half : 32 * half + 32] = 32 ** -0.5
    return w

def narrow():
    return HalfSpace(direction(0)).eval()

def bytes_wanted():
    return HalfSpace(direction(0), 127.5).eval()
"""
MARGINS = (0.2, 1.0)  # of the first half of the pixels, of the second
SMALL = ["--images", "40", "--votes", "200", "--device", "cpu", "--num-classes", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("advise")
    (folder / f"{NET}.py").write_text(FACTORY)
    sides = np.repeat(np.array([1, -1] * 20)[:, None], 64, 1)
    each = np.repeat(np.array(MARGINS) / np.sqrt(32), 32)
    images = (0.5 + sides * each).astype(np.float32).reshape(40, 1, 8, 8)
    np.savez(folder / "images.npz", images=images, labels=(sides[:, 0] < 0).astype(np.int64))
    np.save(folder / "bare.npy", images)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop(NET, None)


def denoised_like(folder, scale=1.0):
    """`open_target` with a denoiser that brings out the second half of the pixels, whose margin is 1."""
    opened = module.open_target

    def stand_in(model, *, denoiser=None, **options):
        target = opened(model, **options)
        if denoiser is None:
            return target
        assert denoiser == "d" and isinstance(options["noise"], Gaussian)
        return replace(target, f=lambda x: target.f(scale * x.flip(2)))

    return stand_in


def test_accuracy_under_noise_and_what_can_be_expected_are_those_of_the_margin(folder):
    """4 sd of 8,000 votes: fails with probability below 10⁻⁴, were the seed another."""
    found = advise(
        f"{NET}:narrow", radius=0.1, images=40, votes=200, dataset=str(folder / "images.npz"), num_classes=2
    ).finish()
    assert found.clean == 1 and [m.sigma for m in found.measured] == [0.12, 0.25, 0.5, 1.0]
    for m in found.measured:
        p = norm.cdf(MARGINS[0] / m.sigma)
        assert abs(m.noisy - p) < 4 * (p * (1 - p) / 8000) ** 0.5
    assert found.measured[0].certified == 1 and (found.way, found.sigma) == ("as is", 0.12)


def test_a_table_sentences_and_the_next_command(folder):
    done = smoothcert("advise", f"{NET}:narrow", "images.npz", "--radius", 0.1, *SMALL, cwd=folder)
    assert done.returncode == 0, done
    assert "accuracy without noise 100.0 % (40 images, 200 votes each)" in done.stdout
    assert "not certificates" in done.stdout and "0.45" in done.stdout
    said = "--num-classes 2 --device cpu --sigma 0.12 --every 10"
    assert done.stdout.endswith(f"Next: smoothcert certify {NET}:narrow images.npz {said}\n")
    assert max(map(len, done.stdout.splitlines())) <= 120
    done = smoothcert("advise", f"{NET}:narrow", "images.npz", "--radius", 0.5, *SMALL, cwd=folder)
    assert "As it is the model keeps 0.0 % at radius 0.5" in done.stdout and "try a denoiser" in done.stdout
    assert done.stdout.endswith("Next: smoothcert train RECIPE  (`smoothcert recipes` lists them)\n")
    assert not [path for path in folder.iterdir() if path.suffix == ".jsonl"]


def test_a_denoiser_is_tried_beside(folder, monkeypatch):
    monkeypatch.setattr(module, "open_target", denoised_like(folder))
    options = {"images": 40, "votes": 200, "dataset": str(folder / "images.npz"), "num_classes": 2}
    found = advise(f"{NET}:narrow", radius=0.5, **options, denoiser="d").finish()
    assert [m.denoised for m in found.measured] == [False] * 4 + [True] * 4
    assert found.way == "denoiser" and found.best(denoised=True).certified == 1 and not found.warnings
    assert found.best(denoised=False).certified == 0
    for m in found.measured[4:]:
        p = norm.cdf(MARGINS[1] / m.sigma)
        assert m.clean == 1 and abs(m.noisy - p) <= 4 * (p * (1 - p) / 8000) ** 0.5


def test_wrong_scales_are_noticed(folder, monkeypatch):
    done = smoothcert("advise", f"{NET}:bytes_wanted", "images.npz", *SMALL, "--json", cwd=folder)
    found = json.loads(done.stdout)
    assert (found["way"], found["command"], found["clean"]) == ("check the input", None, 0.5)
    assert "another range" in found["warnings"][0]
    said = smoothcert("advise", f"{NET}:bytes_wanted", "images.npz", *SMALL, cwd=folder).stdout
    assert "Clean accuracy is 50 %, near chance" in said and "Next:" not in said
    monkeypatch.setattr(module, "open_target", denoised_like(folder, scale=255.0))
    options = {"images": 40, "votes": 20, "dataset": str(folder / "images.npz"), "num_classes": 2}
    found = advise(f"{NET}:narrow", **options, denoiser="d").finish()
    assert "falls from 100 to 50 % at σ = 0.12" in found.warnings[0]


def test_a_run_is_fine_tuned_by_a_recipe_of_its_data(tmp_path):
    """Two epochs of digits teach enough to begin with, and 1.85 at σ = .5 is nearly all that votes can reach."""
    train = ["train", "mnist5k/gaussian/0.50", "--set", "epochs=2", "--out", "run", "--device", "cpu"]
    assert smoothcert(*train, cwd=tmp_path).returncode == 0
    call = ["advise", "run", "--images", 50, "--votes", 100, "--radius", 1.85, "--sigmas", 0.25, 0.5]
    found = json.loads(smoothcert(*call, "--device", "cpu", "--json", cwd=tmp_path).stdout)
    assert found["clean"] > 0.5 and (found["way"], found["sigma"]) == ("fine-tune", 0.5)
    assert found["command"] == "smoothcert train mnist5k/consistency/0.50 --init run"


@pytest.mark.parametrize("name", ["f.pth", "f.PTH", "f.tar", "f.bin", "f.ckpt", "f.safetensors"])
def test_whatever_is_read_as_weights_can_be_fine_tuned(name):
    assert module._can_be_trained(name, {}) and not module._can_be_trained(name, {"trust": True})
    assert not module._can_be_trained("f.onnx", {}) and not module._can_be_trained("m:factory", {})


def test_wrong_calls(folder):
    call = "advise", f"{NET}:narrow", "images.npz", *SMALL
    assert "--radius" in fails(*call, "--radius", "-1", cwd=folder)
    assert "--sigmas" in fails(*call, "--sigmas", "0.5", "0.5", cwd=folder)
    assert "--sigmas" in fails(*call, "--sigma", "0.5", cwd=folder)
    assert "positive" in fails(*call, "--sigmas", "-1", cwd=folder)
    assert "--images must be at least 20" in fails(*call, "--images", "3", cwd=folder)
    assert "--votes must be at least 20" in fails(*call, "--votes", "3", cwd=folder)
    assert "--labels" in fails("advise", f"{NET}:narrow", "bare.npy", *SMALL, cwd=folder)
    with pytest.raises(InputError, match="--sigmas"):
        advise(f"{NET}:narrow", noise=Gaussian(0.5)).finish()
