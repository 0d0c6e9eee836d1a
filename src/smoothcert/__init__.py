"""Train, certify and compare randomized-smoothing classifiers with a provable guarantee."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smoothcert.attacks import DDN, PGD
    from smoothcert.errors import InputError
    from smoothcert.noise import Gaussian, Laplace, Uniform
    from smoothcert.objectives import MACER, Consistency, CrossEntropy, Objective, Stability
    from smoothcert.procedures.certificate import ABSTAIN, Certificate, certify
    from smoothcert.procedures.prediction import Prediction, predict
    from smoothcert.smoothed.classifier import SmoothedClassifier

__version__ = "0.1.0"

_PLACE_OF = {
    "InputError": "errors",
    **dict.fromkeys(("Gaussian", "Laplace", "Uniform"), "noise"),
    **dict.fromkeys(("MACER", "Consistency", "CrossEntropy", "Objective", "Stability"), "objectives"),
    **dict.fromkeys(("DDN", "PGD"), "attacks"),
    **dict.fromkeys(("ABSTAIN", "Certificate", "certify"), "procedures.certificate"),
    **dict.fromkeys(("Prediction", "predict"), "procedures.prediction"),
    "SmoothedClassifier": "smoothed.classifier",
}

__all__ = [
    "ABSTAIN",
    "DDN",
    "MACER",
    "PGD",
    "Certificate",
    "Consistency",
    "CrossEntropy",
    "Gaussian",
    "InputError",
    "Laplace",
    "Objective",
    "Prediction",
    "SmoothedClassifier",
    "Stability",
    "Uniform",
    "certify",
    "predict",
]


def __getattr__(name: str) -> Any:
    # Importing torch takes seconds: only those who touch a name that needs it should wait.
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"smoothcert.{_PLACE_OF[name]}"), name)
