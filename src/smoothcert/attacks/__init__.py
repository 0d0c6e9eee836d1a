"""Attacks in ℓ₂ on the smoothed soft classifier: SmoothAdv is an `Objective` with one of them."""

from smoothcert.attacks.ddn import DDN
from smoothcert.attacks.pgd import PGD

ATTACKS: dict[str, type[PGD | DDN]] = {"pgd": PGD, "ddn": DDN}

__all__ = ["ATTACKS", "DDN", "PGD"]
