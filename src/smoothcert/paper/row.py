"""One printed row of a table of certified accuracies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What identifies the row, and what is printed in it."""

    table: int
    number: int
    """1, 2, … in print order within the table"""
    dataset: str
    network: str
    method: str
    """gaussian, consistency, smoothadv, smoothadv-best, smoothadv+consistency, stability, macer, mse, kl or
    cross-entropy"""
    printed: str
    """the method as the paper words it"""
    sigma: float
    acr: float
    lbd: tuple[float, ...] = ()
    """printed λ; several where one row stands for several, none where it is not printed"""
    m: int | None = None
    """noise draws per image where they tell the row from others"""
    acr_sd: float | None = None
    """standard deviation over five seeds (table 7)"""
    accuracy: tuple[tuple[float, float], ...] = ()
    """(radius, certified accuracy in percent, as printed)"""
    digits: int = 1
    """decimals of the printed accuracies: none for ImageNet, whose accuracies are cut off, not rounded"""

    @property
    def name(self) -> str:
        """TABLE:ROW, by which `find` finds it again."""
        return f"{self.table}:{self.number}"

    @property
    def title(self) -> str:
        """For people: "table 6, Gaussian + Consistency (λ=5), σ=0.50"."""
        printed = self.printed.replace("lambda", "λ")
        return f"table {self.table}, {printed}, σ={self.sigma:.2f}"
