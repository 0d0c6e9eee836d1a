"""What training charges: terms that compose, each readable beside its equation."""

from smoothcert.objectives.base import Attack, Charges, Objective, Term
from smoothcert.objectives.consistency import Consistency
from smoothcert.objectives.cross_entropy import CrossEntropy
from smoothcert.objectives.macer import MACER
from smoothcert.objectives.mean_squared import MeanSquared
from smoothcert.objectives.stability import Stability

TERMS: dict[str, type[Term]] = {
    "cross_entropy": CrossEntropy,
    "consistency": Consistency,
    "mean_squared": MeanSquared,
    "stability": Stability,
    "macer": MACER,
}

__all__ = [
    "MACER",
    "TERMS",
    "Attack",
    "Charges",
    "Consistency",
    "CrossEntropy",
    "MeanSquared",
    "Objective",
    "Stability",
    "Term",
]
