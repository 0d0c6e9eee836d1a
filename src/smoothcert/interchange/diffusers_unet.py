"""diffusers:FOLDER, a noise-prediction network of the package `diffusers`, from local files only."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.files.reading import parse_json, read_bytes
from smoothcert.files.shown import one_line, shown
from smoothcert.interchange.optional import optional
from smoothcert.interchange.weights import digest

_MOST_BYTES = 2**20  # of a configuration
_NAMES = {"linear": "linear", "squaredcos_cap_v2": "cosine"}
_OURS: dict[str, Any] = {
    "num_train_timesteps": 1000,
    "prediction_type": "epsilon",
    "trained_betas": None,
    "rescale_betas_zero_snr": False,
}
_OF_LINEAR: dict[str, Any] = {"beta_start": 1e-4, "beta_end": 0.02}


class DiffusersNoise(nn.Module):
    """ε(x_t, t) of a UNet2DModel; where it also predicts variances, in further channels, these are left out.

    `sha256` is of its weights and of its config.json: the same weights under another one are another function.
    """

    def __init__(self, unet: Any, config: bytes) -> None:
        super().__init__()
        self.unet = unet
        parts = digest(unet.state_dict()), hashlib.sha256(config).hexdigest()
        self.sha256 = hashlib.sha256(" ".join(parts).encode()).hexdigest()
        self.channels = int(unet.config.in_channels)

    def forward(self, x_t: Tensor, t: Tensor) -> Tensor:
        found: Tensor = self.unet(x_t, t).sample
        return found[:, : self.channels]


def from_diffusers(folder: Path) -> tuple[DiffusersNoise, str]:
    """The UNet2DModel that lies in this folder, or in its `unet` as in a pipeline's, and the name of its schedule.

    Only files of this folder are read, weights only as safetensors; nothing is fetched. The schedule is that of
    scheduler_config.json, in the folder or in `scheduler` beside the network; where there is none, "linear".
    """
    diffusers = optional("diffusers", "diffusion")
    place = folder / "unet" if (folder / "unet").is_dir() else folder
    if not (place / "config.json").is_file():
        raise InputError(
            f"diffusers:{folder}: no folder with a UNet2DModel (config.json and its weights): save one there"
        )
    try:
        local = {"local_files_only": True, "use_safetensors": True, "torch_dtype": torch.float32}
        unet = diffusers.UNet2DModel.from_pretrained(str(place), **local)
    except Exception as error:  # the package raises whatever its files lead to
        raise InputError(f"diffusers:{folder}: {one_line(error)}") from error
    if unet.config.out_channels not in (unet.config.in_channels, 2 * unet.config.in_channels):
        raise InputError(
            f"diffusers:{folder}: gives {unet.config.out_channels} channels: it predicts no noise of images"
        )
    return DiffusersNoise(unet.eval(), bytes(read_bytes(place / "config.json", _MOST_BYTES))), _schedule(folder)


def _schedule(folder: Path) -> str:
    places = (folder / "scheduler" / "scheduler_config.json", folder / "scheduler_config.json")
    path = next((place for place in places if place.is_file()), None)
    return "linear" if path is None else read_schedule(path)


def read_schedule(path: Path) -> str:
    """The name that our schedules have for that of a scheduler_config.json; InputError for any other."""
    try:
        said = parse_json(bytes(read_bytes(path, _MOST_BYTES)))
        name = _NAMES.get(said.get("beta_schedule", "linear"))
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: not a scheduler's configuration ({one_line(error)})") from error
    wanted = _OURS | (_OF_LINEAR if name == "linear" else {})
    other = [key for key, value in wanted.items() if said.get(key, value) != value]
    if name is None or other:
        named = ", ".join(f"{key} {shown(said.get(key))}" for key in (other or ["beta_schedule"]))
        raise InputError(f"{path}: {named}: known are the linear (10⁻⁴ to 0.02) and the cosine schedule of 1000 steps")
    return name
