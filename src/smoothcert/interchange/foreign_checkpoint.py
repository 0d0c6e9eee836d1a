"""Checkpoints of locuslab/smoothing, smoothing-adversarial, MACER and the paper's own code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.shown import shown
from smoothcert.interchange.factory import from_factory
from smoothcert.interchange.pth import State, read_state
from smoothcert.models import MODELS, build
from smoothcert.models.normalize import NORMALIZATIONS, Normalize, renormalize

ALIASES = {"resnet50": "imagenet_resnet50", "resnet110": "cifar_resnet110", "densenet40": "cifar_densenet40"}
"""what others call our networks, where they do not call them as we do"""
_LAST = ("fc.weight", "classifier.weight", "fc2.weight")
_SHOWN = 3  # keys of each kind in an error message


@dataclass(frozen=True)
class ForeignCheckpoint:
    """A network of ours, in evaluation mode, with somebody else's weights, and what is known of them."""

    f: nn.Module
    about: dict[str, Any]
    """`build(name, num_classes, normalization)` makes the network again; the rest tells its origin"""


def import_checkpoint(
    path: Path, arch: str | None = None, num_classes: int | None = None, normalization: str | None = None
) -> ForeignCheckpoint:
    """Read a .pth.tar, .pth or .pt file without executing anything in it.

    The files do not say how their authors normalised: (x − mean) / std and x − mean leave the same keys.
    Where a layer stood before the network "standard" is assumed, where none did "none";
    most of smoothing-adversarial's need `normalization="center"` (docs/models.md). What was taken, and whether it
    was assumed, stands in `about`.
    """
    state = read_state(path)
    name = _network(path, arch or state.arch)
    found = _count_classes(path, state.weights)
    if num_classes not in (None, found):
        raise InputError(f"{path}: its last layer has {found} classes, not {num_classes}")
    with torch.random.fork_rng(devices=[]):  # fresh weights are drawn only to be overwritten
        f = build(name, found)
    _fill(path, name, f, state.weights)
    layer, source = _normalization(path, f, state, normalization)
    about = {
        "name": name,
        "num_classes": found,
        "normalization": layer,
        "normalization_from": source,
        "source": str(path),
        "sha256": state.sha256,
        "epoch": state.epoch,
    }
    return ForeignCheckpoint(renormalize(f, layer).eval(), about)


def fill_factory(path: Path, spec: str, made: nn.Module | None = None) -> ForeignCheckpoint:
    """The network that package.module:factory builds, with the weights of a file in which nothing is executed.

    `made` is what it built already, and is filled.
    """
    f, state = made or from_factory(spec), read_state(path)
    inner = {key.removeprefix("module."): value for key, value in state.as_saved.items()}
    parallel = len(inner) == len(state.as_saved) and not state.as_saved.keys() <= f.state_dict().keys()
    _fill(path, spec, f, inner if parallel else state.as_saved)
    return ForeignCheckpoint(f.eval(), {"name": str(path), "network": spec, "sha256": state.sha256})


def _network(path: Path, arch: str | None) -> str:
    known = [*MODELS, *ALIASES]
    if arch is None:
        raise InputError(
            f"{path}: does not say its architecture: name it with --arch ({', '.join(known)}), or the code that builds "
            "it with --arch package.module:factory"
        )
    name = ALIASES.get(arch, arch)
    if name not in MODELS and not re.fullmatch(r"cifar_resnet\d{1,4}", name):
        raise InputError(f"{path}: unknown architecture {shown(arch)}{did_you_mean(arch[:80], known)}")
    return name


def _count_classes(path: Path, weights: dict[str, Tensor]) -> int:
    for key in _LAST:
        if key in weights and weights[key].dim() == 2:
            return len(weights[key])
    raise InputError(f"{path}: no last layer ({', '.join(_LAST)}) among its keys {_few(list(weights))}")


def _fill(path: Path, name: str, f: nn.Module, weights: dict[str, Tensor]) -> None:
    # Files older than torch 0.4.1 do not count batches, and nothing in evaluation reads the count.
    expected = f.state_dict()
    counters = {key for key in expected if key.endswith(".num_batches_tracked")}
    wrong = {
        "lacks": [key for key in expected if key not in weights and key not in counters],
        "has besides": [key for key in weights if key not in expected],
        "has in another shape": [
            f"{key} {tuple(weights[key].shape)} for {tuple(value.shape)}"
            for key, value in expected.items()
            if key in weights and weights[key].shape != value.shape
        ],
    }
    if any(wrong.values()):
        parts = (f"it {verb} {_few(keys)}" for verb, keys in wrong.items() if keys)
        raise InputError(f"{path}: not the weights of {name}: {'; '.join(parts)}")
    broken = [key for key, value in weights.items() if not value.isfinite().all()]
    if broken:
        raise InputError(f"{path}: NaN or infinite values in {_few(broken)}")
    f.load_state_dict({**{key: expected[key] for key in counters}, **weights})


def _normalization(path: Path, f: nn.Module, state: State, asked: str | None) -> tuple[str, str]:
    """Which of the NORMALIZATIONS the checkpoint needs, and who says so."""
    own = getattr(f, "normalize", None)
    if not isinstance(own, Normalize):
        return asked or "none", "network"
    if state.before:
        kind = _kind(own, list(state.before.values()))
        if kind is None:
            found = _few(list(state.before))
            raise InputError(f"{path}: its first layer ({found}) is none of {', '.join(NORMALIZATIONS)}")
        if asked not in (None, kind):
            raise InputError(f"{path}: its own normalization is {kind}, not {asked}")
        return kind, "file"
    if asked is not None:
        return asked, "asked"
    return ("standard" if state.wrapped else "none"), "assumed"


def _kind(own: Normalize, constants: list[Tensor]) -> str | None:
    for kind, expected in (("standard", [own.mean, own.std]), ("center", [own.mean])):
        if len(constants) == len(expected) and all(
            a.numel() == b.numel() and torch.allclose(a.flatten().float(), b.flatten(), atol=1e-6)
            for a, b in zip(constants, expected, strict=True)
        ):
            return kind
    return None


def _few(keys: list[str]) -> str:
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return ", ".join(shown(key)[1:-1] for key in keys[:_SHOWN]) + more
