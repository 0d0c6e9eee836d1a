"""Terms that look elsewhere and attacks on the noise in the real loop: no NaN, and the same weights after a stop."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from smoothcert.attacks import PGD, NoisePGD
from smoothcert.data import load
from smoothcert.interchange.weights import digest, load_weights
from smoothcert.noise import Gaussian
from smoothcert.noise.stream import generator_for
from smoothcert.objectives import CatRS, Consistency, CrossEntropy, Objective, SmoothMix
from smoothcert.recipes import Recipe, StepDecay
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log
from smoothcert.training import loop
from smoothcert.training.loop import train_on

CPU, NOISE = torch.device("cpu"), Gaussian(0.5)
MIX = SmoothMix(5.0, 1.0, 2, warmup=2)
OBJECTIVES = {
    "smoothmix": Objective(NOISE, (CrossEntropy(), MIX), m=2),
    "one-step, upon consistency": Objective(
        NOISE, (CrossEntropy(), Consistency(5.0), MIX), m=2, attack=PGD(1.0, 1, warmup=2)
    ),
    "norm kept": Objective(NOISE, (CrossEntropy(), Consistency(5.0)), m=2, attack=NoisePGD(0.75, 3, start=1)),
    "moments kept": Objective(NOISE, (CrossEntropy(), MIX), m=2, attack=NoisePGD(1.0, 2, "moments", warmup=2)),
}


def run(folder: Path, objective: Objective, stop_after: int | None = None) -> str | None:
    recipe = Recipe("fake", "lenet", objective, epochs=2, lr=0.01, schedule=StepDecay(1), batch=64, fraction=0.5)
    for number, _ in enumerate(train_on(recipe, folder, load("fake", "train"), load("fake", "test"), CPU), 1):
        if number == stop_after:
            return None
    return digest(load_weights(RunFolder(folder).model)[0])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_it_trains_and_a_stopped_run_ends_with_the_same_weights(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(loop, "_SHARE_OF_TIME_FOR_CHECKPOINTS", 1e9)
    undisturbed = run(tmp_path / "at once", OBJECTIVES[name])
    run(tmp_path / "stopped", OBJECTIVES[name], stop_after=2)
    assert run(tmp_path / "stopped", OBJECTIVES[name]) == undisturbed
    rows = read_training_log(RunFolder(tmp_path / "stopped").training_log)
    assert len(rows) == 2 and all(math.isfinite(value) for row in rows for value in row.values())


def test_cat_rs_learns_under_given_votes() -> None:
    """The patterns of the fake data, with votes that are nearly sure. Its loss says little: hard images pay less."""
    objective = Objective(NOISE, (CatRS(1.0, steps=2),), m=4)
    torch.manual_seed(0)
    f = nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
    x, y = load("fake", "train").batch(torch.arange(64))
    votes = 0.95 * torch.eye(10)[y] + 0.005
    optimizer = torch.optim.SGD(f.parameters(), lr=0.05, momentum=0.9)
    for step in range(60):
        charges = objective(f, x, y, generator_for(CPU, 0, step), votes)
        optimizer.zero_grad()
        charges.loss.backward()
        optimizer.step()
        assert charges.loss.isfinite()
    assert (charges.logits.argmax(-1) == y).float().mean() > 0.9
