"""The set an attack must not leave: ‖x' − x‖₂ ≤ ε and x' ∈ [0, 1]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from smoothcert.attacks.ascent import l2_norm
from smoothcert.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


def require_ball(attack: object, epsilon: float, steps: int, least_steps: int, warmup: int) -> None:
    name = type(attack).__name__
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InputError(f"{name}: epsilon must be a number >= 0, not {epsilon}")
    if steps < least_steps:
        raise InputError(f"{name}: steps must be at least {least_steps}, not {steps}")
    if warmup < 1:
        raise InputError(f"{name}: warmup must be at least 1 epoch, not {warmup}")


def require_images(x: Tensor) -> None:
    """Clamping would carry others out of the ball. Waits for the device, once for T passes each way."""
    low, high = x.aminmax()
    if not (low >= 0 and high <= 1):
        raise InputError(f"an attack needs images in [0, 1], not in [{low:.4g}, {high:.4g}]")


def project(delta: Tensor, epsilon: float) -> Tensor:
    """argmin_{‖δ'‖₂ ≤ ε} ‖δ' − δ‖₂ = δ · min(1, ε/‖δ‖₂)."""
    return delta * (epsilon / l2_norm(delta).clamp_(min=1e-12)).clamp_(max=1.0)


def warmed_up(epsilon: float, epoch: int, warmup: int) -> float:
    """ε_e = min(ε, (e + 1) ε / warmup), e = 0, 1, …"""
    return min(epsilon, (epoch + 1) * epsilon / warmup)
