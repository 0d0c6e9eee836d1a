"""The networks a second time, as plainly as possible: a list of (key, shape), and a function of (weights, image).

Keys are those that locuslab/smoothing, MACER, torchvision and the paper's code write into their checkpoints.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import (
    adaptive_avg_pool2d,
    avg_pool2d,
    batch_norm,
    conv2d,
    linear,
    max_pool2d,
    relu,
)

State = dict[str, Tensor]


def _norm(name: str, channels: int) -> list[tuple[str, tuple[int, ...]]]:
    parts = ("weight", "bias", "running_mean", "running_var")
    return [*((f"{name}.{part}", (channels,)) for part in parts), (f"{name}.num_batches_tracked", ())]


def cifar_resnet_layout(depth: int, classes: int) -> list[tuple[str, tuple[int, ...]]]:
    keys = [("conv1.weight", (16, 3, 3, 3)), *_norm("bn1", 16)]
    before = 16
    for stage, width in ((1, 16), (2, 32), (3, 64)):
        for block in range((depth - 2) // 6):
            here = f"layer{stage}.{block}"
            keys += [(f"{here}.conv1.weight", (width, before, 3, 3)), *_norm(f"{here}.bn1", width)]
            keys += [(f"{here}.conv2.weight", (width, width, 3, 3)), *_norm(f"{here}.bn2", width)]
            if before != width:
                keys += [(f"{here}.downsample.0.weight", (width, before, 1, 1))]
                keys += _norm(f"{here}.downsample.1", width)
            before = width
    return [*keys, ("fc.weight", (classes, 64)), ("fc.bias", (classes,))]


def wide_layout(classes: int) -> list[tuple[str, tuple[int, ...]]]:
    groups = _groups((32, 64, 256, 256))
    return _wide([("", 3, 32), *groups, ("residual1.#", 256, 256), ("residual2.#", 256, 256)], 3, classes)


def photo_layout(classes: int) -> list[tuple[str, tuple[int, ...]]]:
    return _wide([("", 3, 32), *_groups((32, 32, 128, 256)), ("residual.#", 256, 256)], 7, classes)


def _groups(channels: tuple[int, ...]) -> list[tuple[str, int, int]]:
    layers = []
    for group, (inputs, outputs) in enumerate(pairwise(channels), start=1):
        layers += [(f"group{group}.#1", inputs, outputs), (f"group{group}.#2", outputs, outputs)]
    return layers


def _wide(layers: list[tuple[str, int, int]], stem: int, classes: int) -> list[tuple[str, tuple[int, ...]]]:
    keys: list[tuple[str, tuple[int, ...]]] = []
    for name, inputs, outputs in layers:
        conv, norm = (name.replace("#", kind) or kind for kind in ("conv", "bn"))
        size = 3 if name else stem
        keys += [(f"{conv}.weight", (outputs, inputs, size, size))]
        keys += [part for part in _norm(norm, outputs) if part[0] != f"{norm}.weight"]  # γ = 1
    return [*keys, ("fc.weight", (classes, 256)), ("fc.bias", (classes,))]


def resnet50_layout(classes: int) -> list[tuple[str, tuple[int, ...]]]:
    keys = [("conv1.weight", (64, 3, 7, 7)), *_norm("bn1", 64)]
    before = 64
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
        for block in range(blocks):
            here = f"layer{stage}.{block}"
            keys += [(f"{here}.conv1.weight", (width, before, 1, 1)), *_norm(f"{here}.bn1", width)]
            keys += [(f"{here}.conv2.weight", (width, width, 3, 3)), *_norm(f"{here}.bn2", width)]
            keys += [(f"{here}.conv3.weight", (4 * width, width, 1, 1)), *_norm(f"{here}.bn3", 4 * width)]
            if block == 0:
                keys += [(f"{here}.downsample.0.weight", (4 * width, before, 1, 1))]
                keys += _norm(f"{here}.downsample.1", 4 * width)
            before = 4 * width
    return [*keys, ("fc.weight", (classes, 2048)), ("fc.bias", (classes,))]


def densenet40_layout(classes: int) -> list[tuple[str, tuple[int, ...]]]:
    keys: list[tuple[str, tuple[int, ...]]] = [("features.conv0.weight", (24, 3, 3, 3))]
    channels = 24
    for block in (1, 2, 3):
        for layer in range(1, 7):
            here = f"features.block{block}.layer{layer}"
            keys += [*_norm(f"{here}.brc_1.norm", channels), (f"{here}.brc_1.conv.weight", (48, channels, 1, 1))]
            keys += [*_norm(f"{here}.brc_2.norm", 48), (f"{here}.brc_2.conv.weight", (12, 48, 3, 3))]
            channels += 12
    keys += _norm("features.norm_last", channels)
    return [*keys, ("classifier.weight", (classes, channels)), ("classifier.bias", (classes,))]


def lenet_layout(classes: int) -> list[tuple[str, tuple[int, ...]]]:
    shapes = {"conv1": (20, 1, 5, 5), "conv2": (50, 20, 5, 5), "fc1": (500, 800), "fc2": (classes, 500)}
    return [pair for n, s in shapes.items() for pair in ((f"{n}.weight", s), (f"{n}.bias", s[:1]))]


def random_state(layout: list[tuple[str, tuple[int, ...]]], seed: int = 0) -> State:
    """Weights with which signals neither die nor explode, so that every layer matters to the output."""
    generator = torch.Generator().manual_seed(seed)
    state: State = {}
    for key, shape in layout:
        if key.endswith("num_batches_tracked"):
            state[key] = torch.tensor(7)
        elif key.endswith("running_var") or (key.endswith("weight") and len(shape) == 1):
            state[key] = 0.5 + torch.rand(shape, generator=generator)
        elif key.endswith("weight"):
            fan_in = torch.tensor(shape[1:]).prod().item()
            state[key] = torch.randn(shape, generator=generator) * (1.4 / fan_in**0.5)
        else:
            state[key] = 0.2 * torch.randn(shape, generator=generator)
    return state


def _bn(w: State, name: str, x: Tensor) -> Tensor:
    parts = (w[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
    return batch_norm(x, *parts, training=False)


def _shortcut(w: State, here: str, x: Tensor, stride: int) -> Tensor:
    if f"{here}.downsample.0.weight" not in w:
        return x
    return _bn(w, f"{here}.downsample.1", conv2d(x, w[f"{here}.downsample.0.weight"], stride=stride))


def cifar_resnet(w: State, x: Tensor) -> Tensor:
    x = relu(_bn(w, "bn1", conv2d(x, w["conv1.weight"], padding=1)))
    for stage in (1, 2, 3):
        block = 0
        while f"layer{stage}.{block}.conv1.weight" in w:
            here, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = relu(_bn(w, f"{here}.bn1", conv2d(x, w[f"{here}.conv1.weight"], stride=stride, padding=1)))
            y = _bn(w, f"{here}.bn2", conv2d(y, w[f"{here}.conv2.weight"], padding=1))
            x = relu(y + _shortcut(w, here, x, stride))
            block += 1
    return linear(avg_pool2d(x, 8).flatten(1), w["fc.weight"], w["fc.bias"])


def resnet50(w: State, x: Tensor) -> Tensor:
    x = relu(_bn(w, "bn1", conv2d(x, w["conv1.weight"], stride=2, padding=3)))
    x = max_pool2d(x, 3, 2, padding=1)
    for stage, blocks in enumerate((3, 4, 6, 3), start=1):
        for block in range(blocks):
            here, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = relu(_bn(w, f"{here}.bn1", conv2d(x, w[f"{here}.conv1.weight"])))
            y = relu(_bn(w, f"{here}.bn2", conv2d(y, w[f"{here}.conv2.weight"], stride=stride, padding=1)))
            y = _bn(w, f"{here}.bn3", conv2d(y, w[f"{here}.conv3.weight"]))
            x = relu(y + _shortcut(w, here, x, stride))
    return linear(adaptive_avg_pool2d(x, 1).flatten(1), w["fc.weight"], w["fc.bias"])


def densenet40(w: State, x: Tensor) -> Tensor:
    x = conv2d(x, w["features.conv0.weight"], padding=1)
    for block in (1, 2, 3):
        for layer in range(1, 7):
            here = f"features.block{block}.layer{layer}"
            y = conv2d(relu(_bn(w, f"{here}.brc_1.norm", x)), w[f"{here}.brc_1.conv.weight"])
            y = conv2d(relu(_bn(w, f"{here}.brc_2.norm", y)), w[f"{here}.brc_2.conv.weight"], padding=1)
            x = torch.cat([x, y], 1)
        x = avg_pool2d(x, 2) if block < 3 else avg_pool2d(relu(_bn(w, "features.norm_last", x)), 8)
    return linear(x.flatten(1), w["classifier.weight"], w["classifier.bias"])


def lenet(w: State, x: Tensor) -> Tensor:
    x = max_pool2d(relu(conv2d(x, w["conv1.weight"], w["conv1.bias"])), 2)
    x = max_pool2d(relu(conv2d(x, w["conv2.weight"], w["conv2.bias"])), 2)
    return linear(relu(linear(x.flatten(1), w["fc1.weight"], w["fc1.bias"])), w["fc2.weight"], w["fc2.bias"])
