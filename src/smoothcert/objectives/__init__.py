"""What training charges: terms that compose, each readable beside its equation."""

from smoothcert.objectives.consistency import Consistency, MeanSquared
from smoothcert.objectives.cross_entropy import CrossEntropy
from smoothcert.objectives.macer import MACER
from smoothcert.objectives.objective import Attack, Objective
from smoothcert.objectives.stability import Stability
from smoothcert.objectives.term import Term

TERMS: dict[str, type[Term]] = {
    "cross_entropy": CrossEntropy,
    "consistency": Consistency,
    "mean_squared": MeanSquared,
    "stability": Stability,
    "macer": MACER,
}

__all__ = ["MACER", "TERMS", "Attack", "Consistency", "CrossEntropy", "MeanSquared", "Objective", "Stability", "Term"]
