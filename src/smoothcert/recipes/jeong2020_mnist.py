"""Table 6 of Jeong & Shin (2020): MNIST, LeNet.

Plain names train as the released code does, since the printed numbers come from it; `…/text` as the paper says.
"""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.noise import Gaussian
from smoothcert.objectives import MACER, Consistency, CrossEntropy, Objective, Stability
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.settings import Settings, follows

_EVERY = 30  # epochs between two decays of the learning rate


@dataclass(frozen=True)
class Table:
    """The methods of the table, each a function of what its rows vary."""

    settings: Settings

    def row(self, objective: Objective) -> Recipe:
        s = self.settings
        cut = s.split_batch(objective)
        return Recipe("mnist", "lenet", objective, 90, 0.01, s.decay(_EVERY), split_batch=cut, nesterov=s.nesterov)

    def gaussian(self, sigma: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (CrossEntropy(),)))

    def consistency(self, sigma: float, lbd: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (CrossEntropy(), Consistency(lbd)), m=2))

    def smoothadv(self, sigma: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (CrossEntropy(),), m=4, attack=self.settings.pgd(255)))

    def smoothadv_consistency(self, sigma: float, lbd: float) -> Recipe:
        terms = (CrossEntropy(), Consistency(lbd))
        attack = self.settings.pgd(255, own_trainer=True)
        return self.row(Objective(Gaussian(sigma), terms, m=4, attack=attack))

    def stability(self, sigma: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (Stability(2.0),)))

    def macer(self, sigma: float, lbd: float) -> Recipe:
        start = _EVERY + self.settings.late if self.settings.deferred else 0
        return self.row(Objective(Gaussian(sigma), (MACER(sigma, lbd, 8.0, 16.0, start),), m=16))


def table6(word: str) -> dict[str, Recipe]:
    """All rows as the "text" or the "code" has them."""
    t = Table(follows(word))
    return {
        "mnist/gaussian/0.25": t.gaussian(0.25),
        "mnist/gaussian/0.50": t.gaussian(0.5),
        "mnist/gaussian/1.00": t.gaussian(1.0),
        "mnist/consistency/0.25": t.consistency(0.25, lbd=10.0),
        "mnist/consistency/0.50": t.consistency(0.5, lbd=5.0),
        "mnist/consistency/1.00": t.consistency(1.0, lbd=5.0),
        "mnist/smoothadv/0.25": t.smoothadv(0.25),
        "mnist/smoothadv/0.50": t.smoothadv(0.5),
        "mnist/smoothadv/1.00": t.smoothadv(1.0),
        "mnist/smoothadv+consistency/0.25": t.smoothadv_consistency(0.25, lbd=1.0),
        "mnist/smoothadv+consistency/0.50": t.smoothadv_consistency(0.5, lbd=1.0),
        "mnist/smoothadv+consistency/1.00": t.smoothadv_consistency(1.0, lbd=1.0),
        "mnist/stability/0.25": t.stability(0.25),
        "mnist/stability/0.50": t.stability(0.5),
        "mnist/stability/1.00": t.stability(1.0),
        "mnist/macer/0.25": t.macer(0.25, lbd=16.0),
        "mnist/macer/0.50": t.macer(0.5, lbd=16.0),
        "mnist/macer/1.00": t.macer(1.0, lbd=6.0),
    }


RECIPES = table6("code") | {f"{name}/text": recipe for name, recipe in table6("text").items()}
