"""Muon, for the filters and matrices of a network."""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Muon:
    """W ← (1 − lr · weight_decay) W − lr √max(1, rows/columns) UVᵀ,  UΣVᵀ = Nesterov momentum of ∇W   [Jordan 2024].

    Filters (out, in, k, k) are seen as matrices (out, in·k·k). Biases, batch norm and the last layer go by the recipe's
    own `lr`, `momentum`, `weight_decay` and `second_moment`; the learning rates of both follow its schedule.

    Args:
        lr: the spectral norm of a step, before the schedule's factor
        momentum: decay of the gradient's running mean
        weight_decay: apart from the gradient
        stem: the first filter or matrix too
        head: the last one too
        fixed_norm: after each step rescale W to ‖W‖_F = √rows, as airbench does; batch norm must follow

    Example:
        >>> Muon(lr=0.1).momentum
        0.95
    """

    lr: float
    momentum: float = 0.95
    weight_decay: float = 0.0
    stem: bool = True
    head: bool = False
    fixed_norm: bool = False

    def __post_init__(self) -> None:
        for name, most in (("lr", 1e9), ("momentum", 1.0), ("weight_decay", 1e9)):
            value = getattr(self, name)
            if not 0 <= value < most:
                raise InputError(f"recipe.muon: {name} must be at least 0 and below {most:g}, not {value}")
