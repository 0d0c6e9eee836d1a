"""Networks by name: logits of images in [0, 1]; normalisation, where there is any, is the first layer."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from torch import nn

from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.shown import shown
from smoothcert.models.cifar_densenet import CifarDenseNet
from smoothcert.models.cifar_resnet import CifarResNet
from smoothcert.models.cifar_wide import CifarWide
from smoothcert.models.denoised import Denoised
from smoothcert.models.ensemble import MOST_MEMBERS, Ensemble
from smoothcert.models.freeze import Frozen, frozen
from smoothcert.models.imagenet_resnet import ImageNetResNet
from smoothcert.models.lenet import LeNet
from smoothcert.models.mirrored import Mirrored
from smoothcert.models.normalize import renormalize
from smoothcert.models.one_shot import OneShot
from smoothcert.models.photo_wide import PhotoWide
from smoothcert.models.unet_denoiser import UNetDenoiser
from smoothcert.models.unet_noise import UNetNoise

MODELS: dict[str, Callable[[int], nn.Module]] = {
    "lenet": LeNet,
    "cifar_resnet20": partial(CifarResNet, 20),
    "cifar_resnet110": partial(CifarResNet, 110),
    "cifar_densenet40": CifarDenseNet,
    "cifar_wide": CifarWide,
    "imagenet_resnet50": ImageNetResNet,
    "photo_wide": PhotoWide,
}

DENOISERS: dict[str, Callable[[int], nn.Module]] = {
    "unet32": partial(UNetDenoiser, 32),
    "unet64": partial(UNetDenoiser, 64),
    "unet_noise32": partial(UNetNoise, 32),
}
"""of the number of channels of an image; what each is called with, its `task` says"""

_MOST_CLASSES = 30_000  # the largest set in use, ImageNet-21k, has 21,841


_TOGETHER = re.compile(r"(?P<name>[^*+]+)(\*(?P<members>\d{1,4}))?(?P<mirror>\+mirror)?")


def build(name: str, num_classes: int, normalization: str = "standard") -> nn.Module:
    """The named network, cifar_resnet<6k+2> or cifar_wide<% of its channels>; fresh weights from torch's generator.

    NAME*3 is an `Ensemble` of three that differ in their fresh weights, to be trained as one network on the summed
    logits; NAME+mirror is `Mirrored`; NAME*3+mirror is both.
    """
    if type(num_classes) is not int or not 2 <= num_classes <= _MOST_CLASSES:
        raise InputError(
            f"a classifier needs at least 2 classes and at most {_MOST_CLASSES:,}, not {shown(num_classes)}"
        )
    if not isinstance(name, str) or not isinstance(normalization, str):
        raise InputError(f"a model and its normalization go by names, not {shown(name)} and {shown(normalization)}")
    if (together := _TOGETHER.fullmatch(name)) and together["name"] != name:
        return _together(together, num_classes, normalization)
    depth, width = (re.fullmatch(rf"{family}(\d{{1,4}})", name) for family in ("cifar_resnet", "cifar_wide"))
    if depth:
        f: nn.Module = CifarResNet(int(depth[1]), num_classes)
    elif width:
        f = CifarWide(num_classes, int(width[1]) / 100)
    elif name in MODELS:
        f = MODELS[name](num_classes)
    else:
        raise InputError(f"unknown model {shown(name)}{did_you_mean(name[:80], MODELS)}")
    return renormalize(f, normalization)


def build_denoiser(name: str, channels: int) -> nn.Module:
    """The named denoiser, unet<width> or unet_noise<width>; fresh weights from torch's generator."""
    found = re.fullmatch(r"unet(_noise)?(\d{1,4})", name) if isinstance(name, str) else None
    if found is None:
        raise InputError(f"unknown denoiser {shown(name)}{did_you_mean(str(name)[:80], DENOISERS)}")
    return (UNetNoise if found[1] else UNetDenoiser)(int(found[2]), channels)


def _together(name: re.Match[str], num_classes: int, normalization: str) -> nn.Module:
    members = 1 if name["members"] is None else int(name["members"])
    if not 1 <= members <= MOST_MEMBERS:  # before the first of them takes memory
        raise InputError(f"an ensemble has 1 to {MOST_MEMBERS} members, not {members}")
    networks = [build(name["name"], num_classes, normalization) for _ in range(members)]
    f = networks[0] if name["members"] is None else Ensemble(networks)
    return Mirrored(f) if name["mirror"] else f


__all__ = [
    "DENOISERS",
    "MODELS",
    "CifarDenseNet",
    "CifarResNet",
    "CifarWide",
    "Denoised",
    "Ensemble",
    "Frozen",
    "ImageNetResNet",
    "LeNet",
    "Mirrored",
    "OneShot",
    "UNetDenoiser",
    "UNetNoise",
    "build",
    "build_denoiser",
    "frozen",
]
