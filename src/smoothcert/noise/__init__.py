"""Noise laws, each together with the theorem that turns a vote into a radius."""

from smoothcert.noise.base import Noise
from smoothcert.noise.gaussian import Gaussian
from smoothcert.noise.laplace import Laplace
from smoothcert.noise.uniform import Uniform

NOISES: dict[str, type[Noise]] = {"gaussian": Gaussian, "laplace": Laplace, "uniform": Uniform}

__all__ = ["NOISES", "Gaussian", "Laplace", "Noise", "Uniform"]
