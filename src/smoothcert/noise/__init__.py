"""Noise laws, each together with the theorem that turns a vote into a radius."""

from smoothcert.errors import InputError
from smoothcert.noise.base import Noise
from smoothcert.noise.gaussian import Gaussian
from smoothcert.noise.grid_gaussian import GridGaussian
from smoothcert.noise.grid_uniform import GridUniform
from smoothcert.noise.laplace import Laplace
from smoothcert.noise.uniform import Uniform

NOISES: dict[str, type[Noise]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "uniform": Uniform,
    "grid_gaussian": GridGaussian,
    "grid_uniform": GridUniform,
}

AnyGaussian = Gaussian | GridGaussian
"""laws with the theorem of Cohen et al. (2019)"""
GridNoise = GridGaussian | GridUniform
"""laws that are drawn exactly, in integers, for images on the grid 0, 1/255, …, 1"""


def on_grid(noise: Noise) -> GridNoise:
    """The noise that is drawn exactly and has the same theorem: of Gaussian(σ) it is GridGaussian(σ)."""
    if isinstance(noise, GridNoise):
        return noise
    if isinstance(noise, Gaussian):
        return GridGaussian(noise.sigma)
    if isinstance(noise, Uniform):
        return GridUniform(noise.w)
    raise InputError(f"{noise} has no exact form on the grid of 8-bit images; Gaussian and Uniform have")


def same_law(noise: Noise | None, trained: Noise) -> bool:
    """Whether they are equal, or the first is the second drawn exactly, which has the same theorem."""
    return noise == trained or (isinstance(trained, Gaussian | Uniform) and noise == on_grid(trained))


__all__ = [
    "NOISES",
    "AnyGaussian",
    "Gaussian",
    "GridGaussian",
    "GridNoise",
    "GridUniform",
    "Laplace",
    "Noise",
    "Uniform",
    "on_grid",
    "same_law",
]
