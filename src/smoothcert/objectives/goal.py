"""Goal: what a recipe trains a network for, as the training loop sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from smoothcert.noise import Noise
    from smoothcert.objectives.objective import Attack, NoiseAttack

Task = Literal["classify", "denoise", "predict-noise"]


class Charges(Protocol):
    """What one batch costs."""

    @property
    def terms(self) -> dict[str, Tensor]:
        """The mean charge of each term, by its name in the training log."""

    @property
    def loss(self) -> Tensor:
        """Their sum, whose gradient is followed."""

    def seen(self, y: Tensor) -> dict[str, Tensor]:
        """What the log has beside them, as means over the batch."""


class Charging(Protocol):
    """What a training step asks for: `at`, `views` and `charge`, in this order."""

    def at(self, epoch: float) -> Charging:
        """As it is at that time of the training."""

    def views(
        self,
        f: Callable[..., Tensor],
        x: Tensor,
        y: Tensor,
        generator: torch.Generator | None = None,
        within: tuple[int, int] | None = None,
        votes: Tensor | None = None,
    ) -> Any:
        """What `charge` needs of a batch, all its random draws made."""

    def charge(self, f: Callable[..., Tensor], views: Any, y: Tensor) -> Charges:
        """One pass of f and what it costs."""

    def watch(
        self, f: Callable[..., Tensor], x: Tensor, y: Tensor, generator: torch.Generator | None = None
    ) -> dict[str, Tensor]:
        """Totals over a batch of test images, of what is watched from epoch to epoch."""


class Goal(Charging, Protocol):
    """An `Objective` of classifiers, or `Plain`, `Denoising`, `NoisePrediction`: a frozen dataclass, in the recipe."""

    @property
    def task(self) -> Task:
        """What the network does, and so how it is called: f(x), denoiser(x, sigma) or eps(x_t, t)."""

    @property
    def about(self) -> dict[str, Any]:
        """What the file of weights says of the network's use, beside the recipe."""

    @property
    def noise(self) -> Noise | None:
        """The one law of noise that it is trained under, where there is one."""

    @property
    def law(self) -> str:
        """Its noise in two words."""

    @property
    def terms(self) -> tuple[Any, ...]: ...

    @property
    def attack(self) -> Attack | NoiseAttack | None: ...

    @property
    def m(self) -> int:
        """Views of an image."""

    @property
    def wants_clean(self) -> bool:
        """Whether one more view is the image itself."""

    @property
    def wants_votes(self) -> bool:
        """Whether it needs the votes of a first network."""

    @property
    def knobs(self) -> tuple[str, ...]:
        """What one has to choose."""


@dataclass(frozen=True)
class Charged:
    """Charges, with what is seen beside them worked out already."""

    terms: dict[str, Tensor]
    beside: dict[str, Tensor]

    @property
    def loss(self) -> Tensor:
        return sum(self.terms.values())  # type: ignore[return-value]

    def seen(self, y: Tensor) -> dict[str, Tensor]:
        return self.beside


def watched(
    goal: Charging, f: Callable[..., Tensor], x: Tensor, y: Tensor, generator: torch.Generator | None
) -> dict[str, Tensor]:
    """Of test images the same as of a batch in training: the `watch` of goals that make one view an image."""
    seen = goal.charge(f, goal.views(f, x, y, generator), y).seen(y)
    return {name: len(x) * mean for name, mean in seen.items()}
