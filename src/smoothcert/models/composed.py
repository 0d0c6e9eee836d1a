"""What a network is that was put together from others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Protocol, Self, runtime_checkable

from torch import Tensor, nn

from smoothcert.models.network import Declared, declared

AS_GIVEN = "as given"


@runtime_checkable
class Composed(Protocol):
    """Frozen by freezing its parts: each knows best what can be folded."""

    variant: str

    def with_parts(self, change: Callable[[nn.Module], nn.Module]) -> Self: ...


class Called(nn.Module):
    """Anybody's function as a module, so that it can be a part; it says of itself what the function says."""

    def __init__(self, f: Callable[..., Tensor]) -> None:
        super().__init__()
        self.f = f
        state(self, declared(f), [f])

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.f(*inputs)


def as_module(f: Callable[..., Tensor]) -> nn.Module:
    """f itself where it is a module."""
    return f if isinstance(f, nn.Module) else Called(f)


def state(network: nn.Module, says: Declared, parts: Sequence[object]) -> None:
    """Let the network declare this, and how its parts compute: bfloat16 where one of them does."""
    rounded = any(getattr(part, "precision", "float32") == "bfloat16" for part in parts)
    about = {field.name: getattr(says, field.name) for field in fields(Declared)}
    about |= {"precision": "bfloat16" if rounded else "float32", "variant": variants(parts)}
    for name, value in about.items():
        setattr(network, name, value)


def variants(parts: Sequence[object]) -> str:
    """How the parts are computed, each way named once."""
    return "; ".join(dict.fromkeys(str(getattr(part, "variant", AS_GIVEN)) for part in parts))
