"""Train, certify and compare randomized-smoothing classifiers with a provable guarantee."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smoothcert.errors import InputError
    from smoothcert.noise import Gaussian, Laplace, Uniform
    from smoothcert.objectives import Consistency, CrossEntropy, Objective
    from smoothcert.smoothed import ABSTAIN, Certificate, Prediction, SmoothedClassifier, certify, predict

__version__ = "0.1.0"

_ROOM_OF = {
    "InputError": "errors",
    **dict.fromkeys(("Gaussian", "Laplace", "Uniform"), "noise"),
    **dict.fromkeys(("Consistency", "CrossEntropy", "Objective"), "objectives"),
    **dict.fromkeys(("ABSTAIN", "Certificate", "Prediction", "SmoothedClassifier", "certify", "predict"), "smoothed"),
}

__all__ = [
    "ABSTAIN",
    "Certificate",
    "Consistency",
    "CrossEntropy",
    "Gaussian",
    "InputError",
    "Laplace",
    "Objective",
    "Prediction",
    "SmoothedClassifier",
    "Uniform",
    "certify",
    "predict",
]


def __getattr__(name: str) -> Any:
    # Importing torch takes seconds: only those who touch a name that needs it should wait.
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"smoothcert.{_ROOM_OF[name]}"), name)
