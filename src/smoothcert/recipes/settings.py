"""Where the paper's text and its released code part, as two named settings."""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.attacks import PGD
from smoothcert.errors import InputError, did_you_mean
from smoothcert.objectives import MACER, Objective, Stability
from smoothcert.recipes.schedule import StepDecay


@dataclass(frozen=True)
class Settings:
    """Choices that the two make differently. The printed numbers come from the code."""

    cut_batches: bool
    """a batch becomes m slices of ⌊batch/m⌋ images, each an optimiser step: m times more updates an epoch"""
    nesterov: bool
    late: int
    """epochs by which the decay of the learning rate comes after a multiple of its period"""
    round_epsilon: bool
    """the text gives ε to two decimals of the image range, the code in 1/256"""
    clamp_first: bool
    """its plain SmoothAdv rows come from Salman's trainer, which clamps to [0, 1] before it projects"""
    deferred: bool
    """its MACER runs on MNIST charge the robust term from the first decay of the learning rate on"""
    damped: bool
    """its own trainer, of SmoothAdv + Consistency, shortens the steps of PGD where the network is confident"""

    def epsilon(self, number: float) -> float:
        """ε in image units from the code's number: 255 → 1.0 in the text, 0.99609375 in the code; 512 → 2.0."""
        return round(number / 256, 2) if self.round_epsilon else number / 256

    def pgd(self, epsilon: int, steps: int = 10, own_trainer: bool = False) -> PGD:
        """The attack of Salman's trainer, or of the paper's own; the text knows one only, of full steps."""
        first, damping = own_trainer or not self.clamp_first, "batch" if own_trainer and self.damped else "none"
        return PGD(self.epsilon(epsilon), steps, warmup=10, project_first=first, damping=damping)

    def decay(self, every: int) -> StepDecay:
        return StepDecay(every, late=self.late)

    def split_batch(self, objective: Objective) -> bool:
        """MACER's and Stability's trainers do not cut, and with one view there is nothing to cut."""
        whole = any(isinstance(term, MACER | Stability) for term in objective.terms)
        return self.cut_batches and objective.m > 1 and not whole


SETTINGS = {
    "text": Settings(
        cut_batches=False, nesterov=True, late=0, round_epsilon=True, clamp_first=False, deferred=False, damped=False
    ),
    "code": Settings(
        cut_batches=True, nesterov=False, late=1, round_epsilon=False, clamp_first=True, deferred=True, damped=True
    ),
}


def follows(word: str) -> Settings:
    """ "text": as the paper writes; "code": as its released code does   [METHOD 6].

    >>> follows("text").epsilon(255), follows("code").epsilon(255)
    (1.0, 0.99609375)
    """
    if word not in SETTINGS:
        raise InputError(f"a recipe follows the text or the code, not {word!r}{did_you_mean(word, SETTINGS)}")
    return SETTINGS[word]
