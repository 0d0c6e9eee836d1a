"""One printed row of a table of certified accuracies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What is printed in the row, and the recipes that reproduce it: they say what the row was trained with."""

    table: int
    number: int
    """1, 2, … in print order within the table"""
    printed: str
    """the method as the paper words it"""
    sigma: float
    acr: float
    recipes: tuple[str, ...]
    """names or aliases of recipes; several where one printed row stands for several settings"""
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
