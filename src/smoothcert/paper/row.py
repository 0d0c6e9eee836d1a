"""One printed row: of a table of certified accuracies, of table 3 or of table 5."""

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
        """TABLE:ROW, by which `find_row` finds it again."""
        return f"{self.table}:{self.number}"

    @property
    def title(self) -> str:
        """For people: "table 6, Gaussian + Consistency (λ=5), σ=0.50"."""
        printed = self.printed.replace("lambda", "λ")
        return f"table {self.table}, {printed}, σ={self.sigma:.2f}"


@dataclass(frozen=True)
class PrintedCost:
    """A row of table 3: CIFAR-10, ResNet-110, σ = 0.5, one GPU of the authors."""

    method: str
    recipe: str
    hyperparameters: int | None
    acr: float
    memory: str
    hours: float


@dataclass(frozen=True)
class AttackSetting:
    """A row of table 5. ε is printed in 1/255; the released code divides by 256 (255 → 0.9961)."""

    dataset: str
    sigma: float
    attack: str
    steps: int
    epsilon: int
    m: int
    recipes: tuple[str, ...]
