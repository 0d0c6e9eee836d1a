"""A network that needs no training, and logs of it: real votes, so that they verify."""

import torch
from torch import nn

from smoothcert.certification.certify_run import certify_run
from smoothcert.data import load
from smoothcert.noise import Gaussian


class Nearest(nn.Module):
    """argmin_c ‖x − p_c‖ for the mean image p_c of each class of `fake`."""

    input_shape = (1, 28, 28)

    def __init__(self):
        super().__init__()
        images, labels = (test := load("fake", "test")).batch(torch.arange(len(test)))
        means = torch.stack([images[labels == c].mean(0) for c in range(10)]).flatten(1)
        self.register_buffer("means", means)

    def forward(self, x):
        return 2 * x.flatten(1) @ self.means.T - self.means.square().sum(1)


def certified(path, sigma=2.0, **options):
    """A log of every 4th image of `fake`, that is of ten."""
    options = {"n": 300, "n0": 20, "every": 4, "noise": Gaussian(sigma), "dataset": "fake", "device": "cpu"} | options
    return certify_run("tests.report.nearest:Nearest", path, **options).finish()
