"""Attacks in ℓ₂ on the smoothed soft classifier, or on its noise: SmoothAdv is an `Objective` with one of them."""

from smoothcert.attacks.ddn import DDN
from smoothcert.attacks.noise_attack import NoisePGD
from smoothcert.attacks.pgd import PGD

ATTACKS: dict[str, type[PGD | DDN | NoisePGD]] = {"pgd": PGD, "ddn": DDN, "noise_pgd": NoisePGD}

__all__ = ["ATTACKS", "DDN", "PGD", "NoisePGD"]
