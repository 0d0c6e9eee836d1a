"""A model of your own on pictures of your own: `python examples/own_model.py digit.png …` (28×28, grey).

The model here is the simplest that works: the class whose mean training image is nearest. Put yours in its place: any
callable from a batch of images in [0, 1] to logits, trained with noise of the same σ.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from smoothcert import Gaussian, SmoothedClassifier, data


def nearest_mean() -> SmoothedClassifier:
    x, y = data.load("mnist5k", "train").batch(torch.arange(4000))
    means = torch.stack([x[y == k].mean(0).flatten() for k in range(10)])
    return SmoothedClassifier(lambda x: -torch.cdist(x.flatten(1), means), Gaussian(0.5), num_classes=10, seed=0)


def picture(path: str) -> Tensor:
    grey = Image.open(path).convert("L").resize((28, 28))
    return torch.from_numpy(np.asarray(grey, np.float32) / 255).unsqueeze(0)


def main(paths: list[str]) -> None:
    g = nearest_mean()
    for path in paths:
        c = g.certify(picture(path), n=10_000, alpha=0.001)
        said = "abstained" if c.abstained else f"class {c.label} within l2 radius {c.radius}"
        print(f"{path}: {said} ({c.n_a} of {c.n} votes, alpha {c.alpha})")


if __name__ == "__main__":
    main(sys.argv[1:])
