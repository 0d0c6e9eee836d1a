"""Noise-prediction networks of diffusers: from local files only, with their own schedule."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from smoothcert import InputError
from smoothcert.interchange.foreign_denoiser import open_denoiser
from smoothcert.models import OneShot
from smoothcert.models.diffusion import levels

SHAPE = (1, 8, 8)


class StandIn(nn.Module):
    """What we use of a UNet2DModel: its configuration, and `.sample` of what it gives."""

    def __init__(self, outputs):
        super().__init__()
        self.config = SimpleNamespace(in_channels=1, out_channels=outputs)
        self.share = nn.Parameter(torch.tensor(0.25))

    def forward(self, x_t, t):
        assert t.shape == (len(x_t),) and t.dtype == torch.int64
        return SimpleNamespace(sample=torch.cat([self.share * x_t] + [x_t * 9] * (self.config.out_channels - 1), 1))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Of a pipeline; with a package that reads it, and would complain of being let out."""

    def from_pretrained(place, *, local_files_only, use_safetensors, torch_dtype):
        assert local_files_only and use_safetensors and torch_dtype == torch.float32
        assert place == str(tmp_path / "unet")
        return StandIn(json.loads((tmp_path / "unet" / "config.json").read_text())["out_channels"])

    package = SimpleNamespace(UNet2DModel=SimpleNamespace(from_pretrained=from_pretrained))
    monkeypatch.setitem(sys.modules, "diffusers", package)
    for name, file, said in (("unet", "config.json", {"out_channels": 1}), ("scheduler", "scheduler_config.json", {})):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(json.dumps(said))
    return tmp_path


def say(folder, **said):
    (folder / "scheduler" / "scheduler_config.json").write_text(json.dumps(said))


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize(("theirs", "ours"), [("linear", "linear"), ("squaredcos_cap_v2", "cosine")])
def test_the_network_is_asked_for_the_noise_once_under_its_own_schedule(folder, outputs, theirs, ours):
    (folder / "unet" / "config.json").write_text(json.dumps({"out_channels": outputs}))
    say(folder, beta_schedule=theirs, beta_start=0.0001, beta_end=0.02, num_train_timesteps=1000)
    found = open_denoiser(f"diffusers:{folder}", SHAPE)
    z, sigma = torch.rand(3, *SHAPE), float(levels(ours)[200]) / 2
    expected = OneShot(lambda x_t, t: 0.25 * x_t, ours)(z, sigma)
    with torch.inference_mode():
        assert torch.equal(found.denoiser(z, sigma), expected)
    assert found.about["schedule"] == ours and len(found.about["sha256"]) == 64
    assert found.about["variant"] == f"one step, {ours} schedule (as given)"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"beta_schedule": "scaled_linear"}, "beta_schedule 'scaled_linear': known are"),
        ({"beta_end": 0.012}, "beta_end 0.012: known are"),
        ({"num_train_timesteps": 4000}, "num_train_timesteps 4000: known are"),
        ({"prediction_type": "v_prediction"}, "prediction_type 'v_prediction': known are"),
    ],
)
def test_another_schedule_is_refused_rather_than_taken_for_one_of_these(folder, said, message):
    say(folder, **said)
    with pytest.raises(InputError, match=message):
        open_denoiser(f"diffusers:{folder}", SHAPE)


def test_what_is_no_such_folder_gets_one_line(folder, monkeypatch):
    with pytest.raises(InputError, match="no folder with a UNet2DModel"):
        open_denoiser("diffusers:google/ddpm-cifar10-32", SHAPE)
    (folder / "scheduler" / "scheduler_config.json").write_text("[1]")
    with pytest.raises(InputError, match="not a scheduler's configuration"):
        open_denoiser(f"diffusers:{folder}", SHAPE)
    (folder / "unet" / "config.json").write_text('{"out_channels": 3}')
    with pytest.raises(InputError, match="gives 3 channels: it predicts no noise of images"):
        open_denoiser(f"diffusers:{folder}", SHAPE)
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(InputError, match=r"diffusers is not installed: pip install 'smoothcert\[diffusion\]'"):
        open_denoiser(f"diffusers:{folder}", SHAPE)


@pytest.mark.filterwarnings("ignore")  # of the package's own workings
def test_a_network_that_the_package_itself_saved_is_read(tmp_path):
    diffusers = pytest.importorskip("diffusers", reason="needs the extra diffusion")
    blocks = {"down_block_types": ("DownBlock2D", "DownBlock2D"), "up_block_types": ("UpBlock2D", "UpBlock2D")}
    sizes = {"sample_size": 8, "layers_per_block": 1, "block_out_channels": (8, 8), "norm_num_groups": 4}
    unet = diffusers.UNet2DModel(in_channels=1, out_channels=1, **sizes, **blocks).eval()
    unet.save_pretrained(tmp_path)
    found = open_denoiser(f"diffusers:{tmp_path}", SHAPE)
    z = torch.rand(3, *SHAPE)
    with torch.inference_mode():
        expected = OneShot(lambda x_t, t: unet(x_t, t).sample, "linear")(z, 0.5)
        torch.testing.assert_close(found.denoiser(z, 0.5), expected)  # another memory layout sums in another order


def test_another_configuration_of_the_same_weights_is_another_network(folder):
    def sha256():
        return open_denoiser(f"diffusers:{folder}", SHAPE).about["sha256"]

    before = sha256()
    assert sha256() == before
    (folder / "unet" / "config.json").write_text(json.dumps({"out_channels": 1, "freq_shift": 1}))
    assert sha256() != before


@pytest.mark.parametrize("said", [{"trained_betas": [0.1]}, {"rescale_betas_zero_snr": True}])
def test_a_schedule_that_only_looks_linear_is_refused(folder, said):
    say(folder, beta_schedule="linear", **said)
    with pytest.raises(InputError, match="known are the linear"):
        open_denoiser(f"diffusers:{folder}", SHAPE)
