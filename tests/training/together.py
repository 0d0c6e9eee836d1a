"""What each process of tests/training/test_team.py does: train tiny recipes and leave their folders."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

import torch

from smoothcert.attacks import PGD, NoisePGD
from smoothcert.data import load
from smoothcert.data.dataset import Dataset
from smoothcert.machine.processes import place
from smoothcert.noise import Gaussian
from smoothcert.objectives import MACER, TERMS, Consistency, CrossEntropy, Objective, SmoothMix, Stability
from smoothcert.objectives.term import log_p_y
from smoothcert.recipes import EasyImages, FirstNetwork, Muon, Recipe, StepDecay
from smoothcert.training.loop import Epoch, train_on
from smoothcert.training.team import joined

NOISE, CPU = Gaussian(0.25), torch.device("cpu")
OBJECTIVES = {
    "consistency": Objective(NOISE, (CrossEntropy(), Consistency(5.0)), m=2),
    "stability": Objective(NOISE, (Stability(2.0),)),
    "macer": Objective(NOISE, (MACER(0.25, 12.0),), m=4),
    # A damping of 1e-8 B is too small to be seen here: tests/objectives has the shares of confident networks.
    "smoothadv": Objective(NOISE, (CrossEntropy(),), m=2, attack=PGD(0.5, 2, damping="batch")),
    "smoothmix": Objective(NOISE, (CrossEntropy(), SmoothMix(5.0, 0.5, 2, warmup=1)), m=2, attack=NoisePGD(0.5, 2)),
}
RECIPES = {
    # 53 images in steps of 25, 25 and 3: shares of unequal size
    name: Recipe("fake", "lenet", objective, 1, 0.01, StepDecay(30), batch=25)
    for name, objective in OBJECTIVES.items()
} | {
    "batch norm": Recipe("tiny", "cifar_resnet20", OBJECTIVES["consistency"], 1, 0.01, StepDecay(30), batch=53),
    "batch norm, clean": Recipe("tiny", "cifar_resnet8", OBJECTIVES["stability"], 1, 0.01, StepDecay(30), batch=53),
    "taken up": Recipe("fake", "lenet", OBJECTIVES["consistency"], 2, 0.01, StepDecay(30), batch=25),
    "adam taken up": Recipe(
        "fake", "lenet", OBJECTIVES["consistency"], 2, 1e-4, StepDecay(30), 25, nesterov=False, second_moment=0.99
    ),
    "average taken up": Recipe("fake", "lenet", OBJECTIVES["consistency"], 2, 0.01, StepDecay(30), 25, ema=0.8),
    "sampled, taken up": Recipe(
        "fake",
        "lenet",
        OBJECTIVES["consistency"],
        4,
        0.01,
        StepDecay(30),
        25,
        sampler=EasyImages(1, every=2, drop=0.05, drop_draws=20),
    ),
    "shifted": Recipe("fake", "lenet", OBJECTIVES["consistency"], 1, 0.01, StepDecay(30), 25, shift=3),
    "bfloat16": Recipe("fake", "lenet", OBJECTIVES["smoothadv"], 1, 0.01, StepDecay(30), 25, precision="bfloat16"),
    "all taken up": Recipe(
        "tiny",
        "cifar_wide25",
        OBJECTIVES["consistency"],
        2,
        0.01,
        StepDecay(30),
        25,
        muon=Muon(0.02),
        ema=0.8,
        precision="bfloat16",
    ),
}


def amplifies_rounding(recipe):
    """Adam and Muon move a weight by the sign of a gradient, and one near 0 may have either; bfloat16 has 8 bits."""
    return bool(recipe.second_moment or recipe.muon or recipe.precision == "bfloat16")


def images(recipe, split):
    data, size = load("fake", split), {"train": 53, "test": 20}[split]
    x, y = data.batch(torch.arange(size))
    if recipe.data == "tiny":
        x = torch.nn.functional.interpolate(x, 32).expand(-1, 3, -1, -1)
    pixels = (255 * x).round().to(torch.uint8).contiguous().numpy()
    return Dataset.of(recipe.data, split, pixels, y.numpy(), num_classes=10)


def train_all(folder, team):
    for name, recipe in RECIPES.items():
        for _ in range(
            recipe.epochs
        ):  # stopped after each epoch: the next call must share out what the first process read
            for event in train_on(recipe, folder / name, images(recipe, "train"), images(recipe, "test"), CPU, team):
                if isinstance(event, Epoch) and event.row["epoch"] < recipe.epochs:
                    break


def normalized(team):
    """Batch norm in float64 on this process's share of a batch: outputs, gradients, running statistics, added up."""
    torch.manual_seed(0)
    x, weights = 3 + torch.randn(7, 4, 5, 5, dtype=torch.float64), torch.randn(7, 4, 5, 5, dtype=torch.float64)
    layer = team.adopt(torch.nn.Sequential(torch.nn.BatchNorm2d(4).double()))
    share = team.share(len(x))
    mine = x[share.start : share.stop].clone().requires_grad_()
    out = layer(mine)
    (out.square() * weights[share.start : share.stop]).sum().backward()
    whole = torch.zeros(2, *x.shape, dtype=torch.float64)
    whole[0, share.start : share.stop], whole[1, share.start : share.stop] = out.detach(), mine.grad
    norm = layer[0]
    sums = team.add(torch.cat((whole.flatten(), norm.weight.grad, norm.bias.grad)))
    return torch.cat((sums, norm.running_mean, norm.running_var))


@dataclass(frozen=True)
class Wanting:
    """Cross-entropy that asks for votes."""

    wants_votes: ClassVar[bool] = True

    def __call__(self, logits, y):
        return -log_p_y(logits, y).mean(0)


def train_after_first(folder, team):
    """Only the first process finds the first network's weights and votes in the folder."""
    with patch.dict(TERMS, wanting=Wanting):
        first = FirstNetwork("mnist5k/gaussian/0.50", votes=20, scale=0.05)
        recipe = Recipe("fake", "lenet", Objective(NOISE, (Wanting(),)), 1, 0.01, StepDecay(30), 25, first=first)
        data = images(recipe, "train"), images(recipe, "test")
        for stopped in (True, False):
            for event in train_on(recipe, folder / "after first", *data, CPU, team):
                if stopped and type(event).__name__ == "Votes":
                    break


if __name__ == "__main__":
    with joined(place(), CPU) as team:
        torch.save(normalized(team), Path(sys.argv[1]) / f"norm{team.place.rank}.pt")
        train_all(Path(sys.argv[1]), team)
        train_after_first(Path(sys.argv[1]), team)
