"""What training charges: terms that compose, each readable beside its equation."""

from smoothcert.objectives.cat_rs import CatRS
from smoothcert.objectives.consistency import Consistency, MeanSquared
from smoothcert.objectives.cross_entropy import CrossEntropy
from smoothcert.objectives.denoising import Denoising, Through
from smoothcert.objectives.goal import Charging, Goal
from smoothcert.objectives.look import Elsewhere, Look
from smoothcert.objectives.macer import MACER
from smoothcert.objectives.noise_prediction import NoisePrediction
from smoothcert.objectives.objective import Attack, NoiseAttack, Objective, Views
from smoothcert.objectives.plain import Plain
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

GOALS: dict[str | None, type[Goal]] = {
    None: Objective,
    "plain": Plain,
    "denoising": Denoising,
    "noise_prediction": NoisePrediction,
}
"""by their `kind` in a recipe; without one it is an objective under one noise, as in all recipes that are older"""

__all__ = [
    "GOALS",
    "MACER",
    "TERMS",
    "Attack",
    "CatRS",
    "Charging",
    "Consistency",
    "CrossEntropy",
    "Denoising",
    "Elsewhere",
    "Goal",
    "Look",
    "MeanSquared",
    "NoiseAttack",
    "NoisePrediction",
    "Objective",
    "Plain",
    "SmoothMix",
    "Stability",
    "Term",
    "Through",
    "Views",
]
