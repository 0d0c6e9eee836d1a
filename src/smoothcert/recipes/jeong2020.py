"""Jeong & Shin (2020): how its rows are trained. A table is a file beside this one, a row is a line there.

Its text and its released code differ, and the printed numbers come from the code: docs/training.md compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smoothcert.attacks import PGD
from smoothcert.noise import Gaussian
from smoothcert.objectives import MACER, Attack, Consistency, CrossEntropy, NoiseAttack, Objective, Stability, Term
from smoothcert.recipes.first_network import FirstNetwork
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.schedule import StepDecay


@dataclass(frozen=True)
class RecipeTable:
    """What all rows of a table share, and the paper's methods as functions of what its rows vary."""

    code: bool
    """as the released code trains; otherwise as the text says"""
    data: str
    model: str
    epochs: int
    lr: float
    every: int
    """epochs between two decays of the learning rate"""
    batch: int = 256

    def row(
        self,
        sigma: float,
        *terms: Term,
        m: int = 1,
        attack: Attack | NoiseAttack | None = None,
        first: FirstNetwork | None = None,
    ) -> Recipe:
        objective = Objective(Gaussian(sigma), terms, m, attack)
        split, nesterov = self.splits_batch(objective), not self.code
        decay = StepDecay(self.every, late=int(self.code))  # in the code an epoch after each multiple of `every`
        schedule = (self.epochs, self.lr, decay, self.batch, split)
        return Recipe(self.data, self.model, objective, *schedule, nesterov=nesterov, first=first)

    def gaussian(self, sigma: float) -> Recipe:
        return self.row(sigma, CrossEntropy())

    def consistency(self, sigma: float, lbd: float, eta: float = 0.5, m: int = 2) -> Recipe:
        return self.row(sigma, CrossEntropy(), Consistency(lbd, eta), m=m)

    def smoothadv(self, sigma: float, m: int, epsilon: int = 255, steps: int = 10) -> Recipe:
        """The code's rows come from Salman's trainer, which clamps to [0, 1] before it projects."""
        attack = PGD(self.epsilon(epsilon), steps, warmup=10, project_first=not self.code, damping="none")
        return self.row(sigma, CrossEntropy(), m=m, attack=attack)

    def smoothadv_consistency(self, sigma: float, lbd: float, m: int, epsilon: int = 255) -> Recipe:
        """The code's rows come from its own trainer, whose steps are shorter where the network is confident."""
        attack = PGD(self.epsilon(epsilon), 10, warmup=10, damping="batch" if self.code else "none")
        return self.row(sigma, CrossEntropy(), Consistency(lbd), m=m, attack=attack)

    def stability(self, sigma: float, lbd: float = 2.0) -> Recipe:
        return self.row(sigma, Stability(lbd))

    def macer(self, sigma: float, lbd: float, start: int = 0) -> Recipe:
        """`start` is the epoch from which the code charges the robust term: the text knows no such delay."""
        return self.row(sigma, MACER(sigma, lbd, start=start if self.code else 0), m=16)

    def epsilon(self, number: int) -> float:
        """ε in image units: 255 is 255/256 in the code, and 1.0 in the text, which gives two decimals."""
        return number / 256 if self.code else round(number / 256, 2)

    def splits_batch(self, objective: Objective) -> bool:
        """The code cuts a batch into m slices, each an optimiser step, but not for MACER and Stability."""
        whole = any(isinstance(term, MACER | Stability) for term in objective.terms)
        return self.code and objective.m > 1 and not whole


def in_both_ways(table: Callable[[bool], dict[str, Recipe]]) -> dict[str, Recipe]:
    """NAME trains as the released code does, since the printed numbers come from it; NAME/text as the paper says."""
    return table(True) | {f"{name}/text": recipe for name, recipe in table(False).items()}
