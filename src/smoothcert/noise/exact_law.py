"""Cumulative laws on the grid of 8-bit images in units of 2⁻⁶⁴, each rounded from a value with 40 sure digits."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction

GRID = 255
"""steps of the grid in one unit of the image range"""
ONE = 2**64
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
_DIGITS = 50
_ALMOST_ALL = Fraction(93, 10)  # 1 − Φ(9.3) < 2⁻⁶⁵: rounds to 0


def gaussian_thresholds(sigma: float) -> list[int]:
    """T_j = round(2⁶⁴ Φ((j + ½) / 255σ)) for j = −m … m − 1, all that are neither 0 nor 2⁶⁴.

    A draw is k = −m + #{T ≤ u} for u of 64 random bits, so P[k ≤ j] = T_j 2⁻⁶⁴ is off by at most 2⁻⁶⁵.
    """
    width, upper = GRID * Fraction(sigma), list[int]()
    while (found := _rounded_phi(Fraction(2 * len(upper) + 1, 2) / width)) < ONE:
        upper.append(found)
    return _both_sides(upper)


def uniform_thresholds(w: float) -> list[int]:
    """T_j = round(2⁶⁴ ((j + ½) + 255w) / 510w), exact fractions: the law of round(U(−255w, 255w))."""
    width, upper = GRID * Fraction(w), list[int]()
    while (found := round(ONE * (Fraction(2 * len(upper) + 1, 2) + width) / (2 * width))) < ONE:
        upper.append(found)
    return _both_sides(upper)


def _both_sides(upper: list[int]) -> list[int]:
    """P[k ≤ −1 − j] = 1 − P[k ≤ j]: both laws are symmetric."""
    return [ONE - threshold for threshold in reversed(upper)] + upper


def _rounded_phi(x: Fraction) -> int:
    """round(2⁶⁴ Φ(x)) for x > 0, by Φ(x) = ½ + φ(x) Σ x^(2n+1) / (2n + 1)!!   [Marsaglia 2004, after Pólya].

    All terms are positive, so nothing cancels: of 50 digits at most 300 operations, each right to the last digit, and
    exp(−x²/2) with x²/2 < 44 spoil fewer than five. The remainder is below the first term left out: its ratio is < ½.
    """
    if x >= _ALMOST_ALL:
        return ONE
    with localcontext(Context(prec=_DIGITS)):
        at = Decimal(x.numerator) / Decimal(x.denominator)
        square, term, total, n = at * at, at, at, 0
        while 2 * square > 2 * n + 3 or term > total.scaleb(-_DIGITS):
            n += 1
            term = term * square / (2 * n + 1)
            total += term
        tail = Decimal("0.5") - (-square / 2).exp() / (2 * _PI).sqrt() * total
        return ONE - int((tail * ONE).to_integral_value(ROUND_HALF_EVEN))
