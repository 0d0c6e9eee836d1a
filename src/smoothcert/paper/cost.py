"""Tables 3 and 5: what training costs, and the best settings of SmoothAdv."""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.paper.table import read_table, recipes_of


@dataclass(frozen=True)
class Cost:
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


def costs() -> tuple[Cost, ...]:
    return tuple(
        Cost(
            c["method"],
            c["recipe"],
            int(c["hyperparameters"]) if c["hyperparameters"] else None,
            float(c["acr"]),
            c["memory"],
            float(c["time_hours"]),
        )
        for c in read_table(3)
    )


def attack_settings() -> tuple[AttackSetting, ...]:
    return tuple(
        AttackSetting(
            c["dataset"],
            float(c["sigma"]),
            c["method"],
            int(c["steps"]),
            int(c["epsilon"]),
            int(c["m"]),
            recipes_of(c),
        )
        for c in read_table(5)
    )
