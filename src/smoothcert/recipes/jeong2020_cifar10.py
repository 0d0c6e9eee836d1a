"""Tables 1, 4 and 11 of Jeong & Shin (2020): CIFAR-10, ResNet-110, ResNet-20 and DenseNet-40.

Plain names train as the released code does, since the printed numbers come from it; `…/text` as the paper says.
Table 1's one SmoothAdv row at σ = 0.25 has the best setting of table 5 (m = 4); the fixed setting has m = 8. Table 4
prints no λ for stability training: 2, the best at σ = 0.5 in table 11.

Some printed rows are certifications of models that others released, and their recipes train as those did:
- MACER in table 1 (`released_macer`), in both ways; but the text knows no late start of the robust term at σ = 1.
- `smoothadv-best`: models of Salman et al., whose trainer is also that of the paper's other plain SmoothAdv rows.
MACER in table 4 was trained by the paper's own code, on the schedule of all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from smoothcert.noise import Gaussian
from smoothcert.objectives import MACER, Consistency, CrossEntropy, Objective, Stability
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.schedule import StepDecay
from smoothcert.recipes.settings import Settings, follows

_EVERY = 50  # epochs between two decays of the learning rate
_MACERS_DECAY = StepDecay(200, late=-1)


@dataclass(frozen=True)
class Table:
    """The methods of the tables, each a function of what its rows vary."""

    settings: Settings
    model: str = "cifar_resnet110"

    def row(self, objective: Objective) -> Recipe:
        s = self.settings
        cut = s.split_batch(objective)
        return Recipe("cifar10", self.model, objective, 150, 0.1, s.decay(_EVERY), split_batch=cut, nesterov=s.nesterov)

    def gaussian(self, sigma: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (CrossEntropy(),)))

    def consistency(self, sigma: float, lbd: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (CrossEntropy(), Consistency(lbd)), m=2))

    def smoothadv(self, sigma: float, epsilon: int = 255, m: int = 8) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (CrossEntropy(),), m, self.settings.pgd(epsilon)))

    def smoothadv_consistency(self, sigma: float, lbd: float, epsilon: int, m: int) -> Recipe:
        terms = (CrossEntropy(), Consistency(lbd))
        attack = self.settings.pgd(epsilon, own_trainer=True)
        return self.row(Objective(Gaussian(sigma), terms, m, attack))

    def stability(self, sigma: float, lbd: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (Stability(lbd),)))

    def macer(self, sigma: float, lbd: float) -> Recipe:
        return self.row(Objective(Gaussian(sigma), (MACER(sigma, lbd, 8.0, 16.0),), m=16))

    def released_macer(self, sigma: float, lbd: float, start: int = 0) -> Recipe:
        """As MACER's authors trained the models they released: the rate falls in their epochs 200 and 400, from 1."""
        term = MACER(sigma, lbd, 8.0, 16.0, start if self.settings.deferred else 0)
        recipe = Recipe("cifar10", self.model, Objective(Gaussian(sigma), (term,), m=16), 440, 0.01, _MACERS_DECAY, 64)
        return replace(recipe, nesterov=False, weight_decay=5e-4, normalization="none")


def table1(word: str) -> dict[str, Recipe]:
    """ResNet-110 at three σ; the best settings of SmoothAdv are those of table 5."""
    t = Table(follows(word))
    return {
        "cifar10/gaussian/0.25": t.gaussian(0.25),
        "cifar10/gaussian/0.50": t.gaussian(0.5),
        "cifar10/gaussian/1.00": t.gaussian(1.0),
        "cifar10/consistency-lbd10/0.25": t.consistency(0.25, lbd=10.0),
        "cifar10/consistency-lbd20/0.25": t.consistency(0.25, lbd=20.0),
        "cifar10/consistency/0.50": t.consistency(0.5, lbd=10.0),
        "cifar10/consistency-lbd5/1.00": t.consistency(1.0, lbd=5.0),
        "cifar10/consistency-lbd10/1.00": t.consistency(1.0, lbd=10.0),
        "cifar10/smoothadv/0.25": t.smoothadv(0.25, m=4),
        "cifar10/smoothadv/0.50": t.smoothadv(0.5),
        "cifar10/smoothadv/1.00": t.smoothadv(1.0),
        "cifar10/smoothadv-best/0.50": t.smoothadv(0.5, epsilon=512, m=2),
        "cifar10/smoothadv-best/1.00": t.smoothadv(1.0, epsilon=512, m=2),
        "cifar10/smoothadv+consistency/0.25": t.smoothadv_consistency(0.25, lbd=2.0, epsilon=255, m=4),
        "cifar10/smoothadv+consistency/0.50": t.smoothadv_consistency(0.5, lbd=1.0, epsilon=512, m=2),
        "cifar10/smoothadv+consistency/1.00": t.smoothadv_consistency(1.0, lbd=1.0, epsilon=512, m=2),
        "cifar10/macer/0.25": t.released_macer(0.25, lbd=12.0),
        "cifar10/macer/0.50": t.released_macer(0.5, lbd=4.0),
        "cifar10/macer/1.00": t.released_macer(1.0, lbd=12.0, start=50),
    }


def table4(word: str) -> dict[str, Recipe]:
    """Smaller networks at σ = 0.5, with the settings found for ResNet-110."""
    rows: dict[str, Recipe] = {}
    for name, model in (("cifar10-resnet20", "cifar_resnet20"), ("cifar10-densenet40", "cifar_densenet40")):
        t = Table(follows(word), model)
        rows |= {
            f"{name}/gaussian/0.50": t.gaussian(0.5),
            f"{name}/consistency/0.50": t.consistency(0.5, lbd=10.0),
            f"{name}/smoothadv/0.50": t.smoothadv(0.5),
            f"{name}/smoothadv-best/0.50": t.smoothadv(0.5, epsilon=512, m=2),
            f"{name}/stability/0.50": t.stability(0.5, lbd=2.0),
            f"{name}/macer/0.50": t.macer(0.5, lbd=4.0),
        }
    return rows


def table11(word: str) -> dict[str, Recipe]:
    """Stability training by λ; the rows "5, 10, 20" are one line in print, for all three collapse to the same."""
    t = Table(follows(word))
    weights, sigmas = (1, 2, 5, 10, 20), (0.25, 0.5, 1.0)
    return {f"cifar10/stability-lbd{lbd}/{s:.2f}": t.stability(s, float(lbd)) for s in sigmas for lbd in weights}


def tables(word: str) -> dict[str, Recipe]:
    return table1(word) | table4(word) | table11(word)


RECIPES = tables("code") | {f"{name}/text": recipe for name, recipe in tables("text").items()}
# Where the paper tries several λ, the plain name is the one with the largest ACR.
ALIASES = {
    "cifar10/consistency/0.25": "cifar10/consistency-lbd20/0.25",
    "cifar10/consistency/1.00": "cifar10/consistency-lbd10/1.00",
    "cifar10/stability/0.25": "cifar10/stability-lbd2/0.25",
    "cifar10/stability/0.50": "cifar10/stability-lbd2/0.50",
    "cifar10/stability/1.00": "cifar10/stability-lbd1/1.00",
}
