"""The smoothed classifier g(x) = argmax_c P[f(x + δ) = c]: its votes, its predictions, its certificates."""

from smoothcert.smoothed.certify import ABSTAIN, Certificate, Prediction, certify, predict
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.votes import Request, Voter

__all__ = [
    "ABSTAIN",
    "Certificate",
    "Prediction",
    "Request",
    "SmoothedClassifier",
    "Voter",
    "certify",
    "predict",
]
