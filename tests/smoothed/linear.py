"""Five images, and a classifier without rounding that a batch size could change."""

import torch

from smoothcert.noise.stream import generator_for

CPU = torch.device("cpu")
IMAGES = torch.rand(5, 1, 6, 7, generator=generator_for(CPU, "images"))
WEIGHTS = torch.randn(42, 3, generator=generator_for(CPU, "weights"), dtype=torch.float64)


def linear(x):
    return (x.flatten(1).double() - 0.5) @ WEIGHTS
