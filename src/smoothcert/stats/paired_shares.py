"""Two shares counted on the same images: how much smaller can the first one be?"""

from __future__ import annotations

from smoothcert.errors import InputError
from smoothcert.stats.binomial import error_bound, lower_bound

_SPENT_ON_HOW_OFTEN = 0.1  # of δ: how often the two differ is soon known well, which of them wins then is not


def paired_difference_bound(only_one: int, only_other: int, images: int, delta: float) -> float:
    """p − q ≥ (2θ⁻ − 1) ψ⁺ if θ⁻ < ½, else (2θ⁻ − 1) ψ⁻; p and q are the chances of "only one" and of "only other".

    ψ = p + q is how often the two differ, θ = p/ψ how often the first one wins then: p − q = (2θ − 1) ψ. θ⁻ is the
    Clopper–Pearson bound from `only_one` of d = only_one + only_other at .9 δ, and ψ± are those from d of `images` at
    .1 δ each.

    Promise: the bound is above p − q with probability ≤ δ, over images drawn independently of each other.

    Proof. Given d, only_one ~ Bin(d, θ), so θ⁻ > θ with probability ≤ .9 δ. Where θ⁻ ≤ θ, the bound is above p − q only
    if ψ⁺ < ψ (and θ < ½) or ψ⁻ > ψ (and θ ≥ ½): for one θ only one of the two can be, with probability ≤ .1 δ.

    >>> round(paired_difference_bound(60, 40, 10_000, 0.05), 5), round(paired_difference_bound(0, 0, 1000, 0.05), 4)
    (0.00016, -0.0053)
    """
    if min(only_one, only_other) < 0 or images < 1 or only_one + only_other > images:
        raise InputError(f"{only_one} and {only_other} of {images} images: that cannot be")
    if not 0 < delta < 1:
        raise InputError("1 - confidence must lie strictly between 0 and 1")
    differ, often = only_one + only_other, _SPENT_ON_HOW_OFTEN * delta
    wins = 2 * float(lower_bound(only_one, differ, delta - often)) - 1 if differ else -1.0
    return wins * float((error_bound if wins < 0 else lower_bound)(differ, images, often))
