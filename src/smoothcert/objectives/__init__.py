"""What training charges: terms that compose, each readable beside its equation."""

from smoothcert.objectives.cat_rs import CatRS
from smoothcert.objectives.consistency import Consistency, MeanSquared
from smoothcert.objectives.cross_entropy import CrossEntropy
from smoothcert.objectives.look import Elsewhere, Look
from smoothcert.objectives.macer import MACER
from smoothcert.objectives.objective import Attack, NoiseAttack, Objective, Views
from smoothcert.objectives.smoothmix import SmoothMix
from smoothcert.objectives.stability import Stability
from smoothcert.objectives.term import Term

TERMS: dict[str, type[Term]] = {
    "cross_entropy": CrossEntropy,
    "consistency": Consistency,
    "mean_squared": MeanSquared,
    "stability": Stability,
    "macer": MACER,
    "smooth_mix": SmoothMix,
    "cat_rs": CatRS,
}

__all__ = [
    "MACER",
    "TERMS",
    "Attack",
    "CatRS",
    "Consistency",
    "CrossEntropy",
    "Elsewhere",
    "Look",
    "MeanSquared",
    "NoiseAttack",
    "Objective",
    "SmoothMix",
    "Stability",
    "Term",
    "Views",
]
