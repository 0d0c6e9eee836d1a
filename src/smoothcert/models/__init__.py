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
from smoothcert.models.freeze import Frozen, frozen
from smoothcert.models.imagenet_resnet import ImageNetResNet
from smoothcert.models.lenet import LeNet
from smoothcert.models.normalize import renormalize

MODELS: dict[str, Callable[[int], nn.Module]] = {
    "lenet": LeNet,
    "cifar_resnet20": partial(CifarResNet, 20),
    "cifar_resnet110": partial(CifarResNet, 110),
    "cifar_densenet40": CifarDenseNet,
    "cifar_wide": CifarWide,
    "imagenet_resnet50": ImageNetResNet,
}

_MOST_CLASSES = 30_000  # the largest set in use, ImageNet-21k, has 21,841


def build(name: str, num_classes: int, normalization: str = "standard") -> nn.Module:
    """The named network, cifar_resnet<6k+2> or cifar_wide<% of its channels>; fresh weights from torch's generator."""
    if type(num_classes) is not int or not 2 <= num_classes <= _MOST_CLASSES:
        raise InputError(
            f"a classifier needs at least 2 classes and at most {_MOST_CLASSES:,}, not {shown(num_classes)}"
        )
    if not isinstance(name, str) or not isinstance(normalization, str):
        raise InputError(f"a model and its normalization go by names, not {shown(name)} and {shown(normalization)}")
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


__all__ = [
    "MODELS",
    "CifarDenseNet",
    "CifarResNet",
    "CifarWide",
    "Frozen",
    "ImageNetResNet",
    "LeNet",
    "build",
    "frozen",
]
