"""Table 2 of Jeong & Shin (2020): ImageNet, ResNet-50; SmoothAdv with its best settings of table 5.

Plain names train as the released code does, since the printed numbers come from it; `…/text` as the paper says.
The printed SmoothAdv rows are certifications of models that Salman et al. released: the recipes follow their trainer.
"""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.settings import Settings, follows


@dataclass(frozen=True)
class Table:
    """The methods of the table, each a function of what its rows vary."""

    settings: Settings

    def row(self, objective: Objective) -> Recipe:
        s = self.settings
        cut = s.split_batch(objective)
        decay = s.decay(30)
        return Recipe("imagenet", "imagenet_resnet50", objective, 90, 0.1, decay, 200, cut, nesterov=s.nesterov)

    def gaussian(self, sigma: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (CrossEntropy(),)))

    def consistency(self, sigma: float, eta: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (CrossEntropy(), Consistency(5.0, eta)), m=2))

    def smoothadv(self, sigma: float, epsilon: int) -> Recipe:
        attack = self.settings.pgd(epsilon, steps=1)
        return self.row(Objective(Gaussian(sigma), (CrossEntropy(),), attack=attack))


def table2(word: str) -> dict[str, Recipe]:
    t = Table(follows(word))
    return {
        "imagenet/gaussian/0.50": t.gaussian(0.5),
        "imagenet/gaussian/1.00": t.gaussian(1.0),
        "imagenet/consistency/0.50": t.consistency(0.5, eta=0.5),
        "imagenet/consistency/1.00": t.consistency(1.0, eta=0.1),
        "imagenet/smoothadv/0.50": t.smoothadv(0.5, epsilon=255),
        "imagenet/smoothadv/1.00": t.smoothadv(1.0, epsilon=512),
    }


RECIPES = table2("code") | {f"{name}/text": recipe for name, recipe in table2("text").items()}
