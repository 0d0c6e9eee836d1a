"""Denoisers, the network of a diffusion model, and classifiers that never saw noise: what denoised smoothing needs.

Schedules of our own; of denoisers: AdamW with a rate that falls straight to 0, the average of weights, bfloat16. MNIST
takes some ten minutes of one core, CIFAR-10 25. A denoiser for several σ costs as much as one for a single σ.

Those of `stability` want the classifier that they are trained for, `smoothcert train NAME --classifier RUN`. Their
squared error keeps the denoised image an image, at a weight at which both matter: it is some 0.01, cross-entropies 0.1.
"""

from dataclasses import replace

from smoothcert.objectives import Denoising, Goal, NoisePrediction, Plain
from smoothcert.recipes.muon import Muon
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import LinearDecay, Trapezoid

ALL = (0.25, 0.5, 1.0)


def denoiser(data: str, objective: Goal, model: str, epochs: int) -> Recipe:
    recipe = Recipe(data, model, objective, epochs, lr=0.002, schedule=LinearDecay(warmup=0.2), batch=64, ema=0.998)
    return replace(recipe, second_moment=0.99, nesterov=False, weight_decay=0.01, precision="bfloat16")


def mnist(objective: Goal, model: str = "unet32") -> Recipe:
    return denoiser("mnist", objective, model, epochs=10)


def cifar10(objective: Goal) -> Recipe:
    return denoiser("cifar10", objective, "unet64", epochs=10)


def stable(sigma: float) -> Denoising:
    return Denoising((sigma,), mse=10.0, stability=1.0)


def plain_mnist() -> Recipe:
    recipe = Recipe("mnist", "lenet", Plain(), 8, lr=0.0015, schedule=LinearDecay(warmup=0.5), batch=64)
    return replace(recipe, second_moment=0.999, nesterov=False)


def plain_cifar10() -> Recipe:
    """As the fast recipes under noise, with half of their channels and a third of their epochs."""
    return Recipe(
        "cifar10",
        "cifar_wide50",
        Plain(),
        8,
        lr=0.1,
        schedule=Trapezoid(up=0.1, down=0.9),
        weight_decay=5e-4,
        muon=Muon(lr=0.1, momentum=0.9, stem=False),
        ema=0.998,
        precision="bfloat16",
    )


RECIPES = {
    "mnist/plain": plain_mnist(),
    "cifar10/plain": plain_cifar10(),
    "denoiser/mnist/all": mnist(Denoising(ALL)),
    "denoiser/mnist/0.25": mnist(Denoising((0.25,))),
    "denoiser/mnist/0.50": mnist(Denoising((0.5,))),
    "denoiser/mnist/stability/0.25": mnist(stable(0.25)),
    "denoiser/mnist/stability/0.50": mnist(stable(0.5)),
    "denoiser/cifar10/all": cifar10(Denoising(ALL)),
    "denoiser/cifar10/0.25": cifar10(Denoising((0.25,))),
    "denoiser/cifar10/0.50": cifar10(Denoising((0.5,))),
    "denoiser/cifar10/stability/0.25": cifar10(stable(0.25)),
    "denoiser/cifar10/stability/0.50": cifar10(stable(0.5)),
    "diffusion/mnist/linear": mnist(NoisePrediction("linear"), "unet_noise32"),
    "diffusion/mnist/cosine": mnist(NoisePrediction("cosine"), "unet_noise32"),
}
