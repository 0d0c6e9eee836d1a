"""Training the network of a diffusion model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from smoothcert.errors import InputError, did_you_mean
from smoothcert.objectives.goal import Charged, Task, watched
from smoothcert.objectives.layout import laid_out
from smoothcert.objectives.share import normal_like, whole_numbers

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_SCHEDULES = ("linear", "cosine")


@dataclass(frozen=True)
class Diffused:
    """Noisy images, the step of each, and the noise that is in them."""

    x_t: Tensor  # (B, C, H, W), in the scale [−1, 1]
    t: Tensor  # (B,)
    epsilon: Tensor


@dataclass(frozen=True)
class NoisePrediction:
    """E ‖ε − eps(√ᾱ_t x + √(1 − ᾱ_t) ε, t)‖²/d,  x in [−1, 1], t uniform, ε ~ N(0, I)   [Ho et al. 2020, eq. 14].

    Args:
        schedule: of ᾱ_t, t = 0, …, 999: "linear" (β from 10⁻⁴ to 0.02) or "cosine", see `models.diffusion`

    Example:
        >>> import torch
        >>> x, y = torch.rand(3, 1, 4, 4), torch.tensor([0, 1, 2])
        >>> goal = NoisePrediction("cosine")
        >>> diffused = goal.views(None, x, y)
        >>> goal.charge(lambda x_t, t: diffused.epsilon, diffused, y).loss.item()  # it knew the noise
        0.0
    """

    schedule: str = "linear"
    task: ClassVar[Task] = "predict-noise"
    noise: ClassVar[None] = None
    terms: ClassVar[tuple[Any, ...]] = ()
    attack: ClassVar[None] = None
    m: ClassVar[int] = 1
    wants_clean: ClassVar[bool] = False
    wants_votes: ClassVar[bool] = False
    knobs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.schedule not in _SCHEDULES:
            raise InputError(f"unknown schedule {self.schedule!r}{did_you_mean(self.schedule[:80], _SCHEDULES)}")

    @property
    def about(self) -> dict[str, Any]:
        """Without its schedule the network's t would mean nothing."""
        return {"task": self.task, "schedule": self.schedule}

    @property
    def law(self) -> str:
        return f"diffusion, {self.schedule}"

    def at(self, epoch: float) -> NoisePrediction:
        """Itself, in every epoch."""
        return self

    def views(
        self,
        f: Callable[..., Tensor] | None,
        x: Tensor,
        y: Tensor,
        generator: torch.Generator | None = None,
        within: tuple[int, int] | None = None,
        votes: Tensor | None = None,
    ) -> Diffused:
        """x_t with a t for each image; (start, total) of `within` says which images of a larger batch x is."""
        import torch

        from smoothcert.models.diffusion import alpha_bar

        left = torch.tensor(alpha_bar(self.schedule))  # in float64 up to here
        t = whole_numbers(len(left), x, generator, within)
        signal, noise = (part.sqrt().to(x)[t][:, None, None, None] for part in (left, 1 - left))
        epsilon = normal_like(x, generator, within)
        return Diffused(signal * (2 * x - 1) + noise * epsilon, t, epsilon)

    def charge(self, f: Callable[..., Tensor], views: Diffused, y: Tensor) -> Charged:
        """One pass of the network f."""
        error = (f(laid_out(f, views.x_t), views.t) - views.epsilon).square().mean()
        return Charged({"squared_error": error}, {"noise_mse": error})

    def watch(
        self, f: Callable[..., Tensor], x: Tensor, y: Tensor, generator: torch.Generator | None = None
    ) -> dict[str, Tensor]:
        """The squared error of the noise, summed over images."""
        return watched(self, f, x, y, generator)
