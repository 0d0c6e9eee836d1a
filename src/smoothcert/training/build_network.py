"""The network that a recipe trains, before its first step."""

from __future__ import annotations

import torch
from torch import nn

from smoothcert.errors import InputError
from smoothcert.files.source import is_spec
from smoothcert.interchange.factory import network_of
from smoothcert.models import build_denoiser
from smoothcert.recipes import Recipe
from smoothcert.training.seeded import seeded


def build_network(recipe: Recipe, num_classes: int, channels: int = 1) -> nn.Module:
    """The recipe's network with the initial weights of its seed; torch's global generator is left as it was.

    A classifier is made for that many classes, a denoiser of ours for images of that many channels.
    """
    task = recipe.objective.task
    classifies = task == "classify" or is_spec(recipe.model)
    make = network_of(recipe.model) if classifies else lambda *_: build_denoiser(recipe.model, channels)
    with seeded(torch.device("cpu"), recipe.seed, "init"):
        network = make(num_classes, recipe.normalization)
    if getattr(network, "task", task) != task:
        raise InputError(f"{recipe.model} is a network to {network.task}, and the recipe's objective to {task}")
    return network
