"""Train, certify and compare randomized-smoothing classifiers with a provable guarantee.

g(x) = the class that f gives most often under noise. Around x it cannot change within a radius that grows with how
often that is:

    import torch
    from smoothcert import Gaussian, SmoothedClassifier

    f = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10)).eval()  # any callable: images to logits
    g = SmoothedClassifier(f, Gaussian(sigma=0.5), num_classes=10)
    x = torch.rand(1, 28, 28)
    c = g.certify(x, n0=100, n=1000, alpha=0.001)
    print("abstained" if c.abstained else f"class {c.label} within l2 radius {c.radius:.3f}")
    print(g.predict(x).label, len(g.certify_batch(torch.rand(5, 1, 28, 28), n=1000)))

Certify: SmoothedClassifier; the noises Gaussian (l2), Laplace and Uniform (l1), and GridGaussian and GridUniform, which
are drawn exactly for 8-bit images; certify and predict, which judge votes.
Train: Objective with the terms CrossEntropy, Consistency, Stability, MACER, SmoothMix, CatRS and the attacks PGD, DDN,
NoisePGD; find_recipe.
Read: read_log gives the Results of a certification. Wrong input raises InputError.

What the command line does: train(recipe, out), certify_run(run), predict_run(run, files), audit_run(run),
advise(model) and reproduce("table6"). Each returns work: iterate over it to see its events, or call finish() for its
result. It locks what it writes, and called again it goes on where it was stopped.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smoothcert.analysis.results import Results, read_log
    from smoothcert.attacks import DDN, PGD, NoisePGD
    from smoothcert.audit.audit_run import audit_run
    from smoothcert.certification.advise import advise
    from smoothcert.certification.certify_run import certify_run
    from smoothcert.certification.predict_run import predict_run
    from smoothcert.certification.target import open_target
    from smoothcert.errors import InputError
    from smoothcert.noise import Gaussian, GridGaussian, GridUniform, Laplace, Uniform
    from smoothcert.objectives import MACER, CatRS, Consistency, CrossEntropy, Objective, SmoothMix, Stability
    from smoothcert.procedures.certificate import ABSTAIN, Certificate, certify
    from smoothcert.procedures.prediction import Prediction, predict
    from smoothcert.recipes import find_recipe
    from smoothcert.reproduction.reproduce import reproduce
    from smoothcert.smoothed.classifier import SmoothedClassifier
    from smoothcert.training.train import train

__version__ = "0.1.0"

_PLACE_OF = {
    "InputError": "errors",
    **dict.fromkeys(("Gaussian", "GridGaussian", "GridUniform", "Laplace", "Uniform"), "noise"),
    **dict.fromkeys(
        ("MACER", "CatRS", "Consistency", "CrossEntropy", "Objective", "SmoothMix", "Stability"), "objectives"
    ),
    **dict.fromkeys(("DDN", "PGD", "NoisePGD"), "attacks"),
    **dict.fromkeys(("ABSTAIN", "Certificate", "certify"), "procedures.certificate"),
    **dict.fromkeys(("Prediction", "predict"), "procedures.prediction"),
    "SmoothedClassifier": "smoothed.classifier",
    **dict.fromkeys(("Results", "read_log"), "analysis.results"),
    "find_recipe": "recipes",
    "train": "training.train",
    "advise": "certification.advise",
    "certify_run": "certification.certify_run",
    "predict_run": "certification.predict_run",
    "open_target": "certification.target",
    "audit_run": "audit.audit_run",
    "reproduce": "reproduction.reproduce",
}

__all__ = [
    "ABSTAIN",
    "DDN",
    "MACER",
    "PGD",
    "CatRS",
    "Certificate",
    "Consistency",
    "CrossEntropy",
    "Gaussian",
    "GridGaussian",
    "GridUniform",
    "InputError",
    "Laplace",
    "NoisePGD",
    "Objective",
    "Prediction",
    "Results",
    "SmoothMix",
    "SmoothedClassifier",
    "Stability",
    "Uniform",
    "advise",
    "audit_run",
    "certify",
    "certify_run",
    "find_recipe",
    "open_target",
    "predict",
    "predict_run",
    "read_log",
    "reproduce",
    "train",
]


def __getattr__(name: str) -> Any:
    # Importing torch takes seconds: only those who touch a name that needs it should wait.
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"smoothcert.{_PLACE_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
