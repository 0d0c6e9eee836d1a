"""Methods that came after the paper: SmoothMix (2021), CAT-RS (2023) and the re-weighting of Sun et al. (2025).

The trainers of the first two are descendants of the paper's, and these recipes follow them: a batch of 256 is cut by m,
momentum is plain, and the learning rate falls an epoch after each multiple of 30 or 50. Of the settings that SmoothMix
tries on MNIST these have η = 5, which is far better than 1 at σ = 1 in its logs. On CIFAR-10 it is the one-step variant
from σ = 0.5 on. Of λ on MNIST the authors of CAT-RS state one, 1 at σ = 0.25; here it is that of all σ. Of Sun et al.
`easy-images` has what they drop, weigh and attack; the optimiser is taken to be the paper's.

`-tenth` is a tenth of the epochs, in bfloat16, of SmoothMix and of the paper's Consistency beside it: 216 and 18 passes
an image, where the whole schedules have 2,160 and 180.
"""

from __future__ import annotations

from dataclasses import replace

from smoothcert.attacks import PGD, NoisePGD
from smoothcert.objectives import CatRS, Consistency, CrossEntropy, SmoothMix
from smoothcert.recipes.demo import method
from smoothcert.recipes.easy_images import EasyImages
from smoothcert.recipes.first_network import FirstNetwork
from smoothcert.recipes.jeong2020 import RecipeTable
from smoothcert.recipes.jeong2020_cifar10 import cifar10
from smoothcert.recipes.jeong2020_mnist import mnist
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.reduced import reduced_recipe


def smoothmix(t: RecipeTable, sigma: float, step: float, steps: int, m: int, onestep: bool = False) -> Recipe:
    attack = PGD(step, steps=1, warmup=10) if onestep else None
    return t.row(sigma, CrossEntropy(), SmoothMix(5.0, step, steps), m=m, attack=attack)


def cat_rs(t: RecipeTable, sigma: float, lbd: float, first: str) -> Recipe:
    """The first network, whose votes it needs, has σ = 0.25 whatever σ is here."""
    return t.row(sigma, CatRS(lbd), m=4, first=FirstNetwork(first))


def easy_images(t: RecipeTable, sigma: float, drop: float, step: float, steps: int) -> Recipe:
    """From epoch 60 of 150 on: hard images dropped, easy ones drawn more often, their noise attacked."""
    attack = NoisePGD(step * steps, steps, keep="norm", start=60)
    return replace(t.row(sigma, CrossEntropy(), m=4, attack=attack), sampler=EasyImages(start=60, drop=drop))


def tenth(recipe: Recipe) -> Recipe:
    """What is told in epochs shrinks with them."""
    return replace(reduced_recipe(recipe, 0.1), precision="bfloat16", reduced=f"9 of {recipe.epochs} epochs")


_MNIST, _CIFAR10 = mnist(code=True), cifar10(code=True)
_MNIST_LONG = RecipeTable(True, "mnist", "lenet", epochs=150, lr=0.01, every=50)
_ONESTEP = PGD(1.0, steps=1, warmup=2)

RECIPES = {
    "mnist/smoothmix/0.25": smoothmix(_MNIST, 0.25, 1.0, 2, m=4),
    "mnist/smoothmix/0.50": smoothmix(_MNIST, 0.5, 1.0, 4, m=4),
    "mnist/smoothmix/1.00": smoothmix(_MNIST, 1.0, 1.0, 8, m=4),
    "mnist/smoothmix-onestep/0.25": smoothmix(_MNIST, 0.25, 1.0, 2, m=4, onestep=True),
    "mnist/smoothmix-onestep/0.50": smoothmix(_MNIST, 0.5, 1.0, 4, m=4, onestep=True),
    "mnist/smoothmix-onestep/1.00": smoothmix(_MNIST, 1.0, 1.0, 8, m=4, onestep=True),
    "mnist/smoothmix-tenth/0.50": tenth(smoothmix(_MNIST, 0.5, 1.0, 4, m=4)),
    "mnist/consistency-tenth/0.50": tenth(_MNIST.consistency(0.5, lbd=5.0)),
    "cifar10/smoothmix/0.25": smoothmix(_CIFAR10, 0.25, 0.5, 4, m=2),
    "cifar10/smoothmix/0.50": smoothmix(_CIFAR10, 0.5, 1.0, 4, m=2, onestep=True),
    "cifar10/smoothmix/1.00": smoothmix(_CIFAR10, 1.0, 2.0, 4, m=2, onestep=True),
    # Beside the methods of `demo`, as short as those.
    "mnist5k/methods/smoothmix/0.50": method(CrossEntropy(), SmoothMix(5.0, 1.0, 4, warmup=2), m=2),
    "mnist5k/methods/smoothmix-onestep/0.50": method(
        CrossEntropy(), SmoothMix(5.0, 1.0, 4, warmup=2), m=2, attack=_ONESTEP
    ),
    "mnist5k/methods/noise-attack+consistency/0.50": method(
        CrossEntropy(), Consistency(5.0), m=2, attack=NoisePGD(1.0, steps=4, keep="norm", warmup=2)
    ),
    # CAT-RS, and the longer Gaussian training that its first network has on MNIST.
    "mnist/gaussian-long/0.25": _MNIST_LONG.gaussian(0.25),
    "mnist/cat-rs/0.25": cat_rs(_MNIST_LONG, 0.25, lbd=1.0, first="mnist/gaussian-long/0.25"),
    "mnist/cat-rs/0.50": cat_rs(_MNIST_LONG, 0.5, lbd=1.0, first="mnist/gaussian-long/0.25"),
    "mnist/cat-rs/1.00": cat_rs(_MNIST_LONG, 1.0, lbd=1.0, first="mnist/gaussian-long/0.25"),
    "cifar10/cat-rs/0.25": cat_rs(_CIFAR10, 0.25, lbd=0.5, first="cifar10/gaussian/0.25"),
    "cifar10/cat-rs/0.50": cat_rs(_CIFAR10, 0.5, lbd=1.0, first="cifar10/gaussian/0.25"),
    "cifar10/cat-rs/1.00": cat_rs(_CIFAR10, 1.0, lbd=2.0, first="cifar10/gaussian/0.25"),
    "cifar10/easy-images/0.25": easy_images(_CIFAR10, 0.25, drop=0.5, step=0.25, steps=3),
    "cifar10/easy-images/0.50": easy_images(_CIFAR10, 0.5, drop=0.4, step=0.25, steps=6),
    "cifar10/easy-images/1.00": easy_images(_CIFAR10, 1.0, drop=0.4, step=0.5, steps=4),
    "mnist5k/methods/easy-images/0.50": replace(
        method(CrossEntropy(), m=2, attack=NoisePGD(1.0, steps=4, keep="norm", start=2)),
        sampler=EasyImages(start=2, every=1),
    ),
    "mnist5k/methods/cat-rs/0.50": method(
        CatRS(1.0), m=4, first=FirstNetwork("mnist5k/methods/gaussian/0.50", votes=500)
    ),
}
PUBLISHED = {
    "mnist/smoothmix/0.25": 0.933,
    "mnist/smoothmix/0.50": 1.694,
    "mnist/smoothmix/1.00": 1.823,
    "cifar10/smoothmix/0.25": 0.553,
    "cifar10/smoothmix/0.50": 0.736,
    "cifar10/smoothmix/1.00": 0.788,
    "mnist/cat-rs/0.25": 0.933,
    "mnist/cat-rs/0.50": 1.700,
    "mnist/cat-rs/1.00": 1.831,
    "cifar10/easy-images/0.25": 0.564,
    "cifar10/easy-images/0.50": 0.760,
    "cifar10/easy-images/1.00": 0.844,
    "cifar10/cat-rs/0.25": 0.562,
    "cifar10/cat-rs/0.50": 0.757,
    "cifar10/cat-rs/1.00": 0.815,
}
"""the ACR that their papers print, of all test images at n = 100,000"""
