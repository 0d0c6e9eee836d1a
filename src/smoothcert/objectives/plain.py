"""Training without noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from smoothcert.objectives.cross_entropy import CrossEntropy
from smoothcert.objectives.goal import Charged, Task, watched
from smoothcert.objectives.layout import laid_out

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Plain:
    """E CE(softmax f(x), y): a classifier that never sees noise, as most are.

    Its own votes under noise are worth little: it is to be put behind a denoiser, or to be fine-tuned.

    Example:
        >>> import torch
        >>> x, y = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 2])
        >>> f = torch.nn.Flatten()
        >>> charges = Plain().charge(f, Plain().views(f, x, y), y)
        >>> bool(torch.isclose(charges.loss, torch.nn.functional.cross_entropy(f(x), y)))
        True
    """

    task: ClassVar[Task] = "classify"
    about: ClassVar[dict[str, Any]] = {}
    noise: ClassVar[None] = None
    law: ClassVar[str] = "none"
    terms: ClassVar[tuple[CrossEntropy, ...]] = (CrossEntropy(),)
    attack: ClassVar[None] = None
    m: ClassVar[int] = 1
    wants_clean: ClassVar[bool] = False
    wants_votes: ClassVar[bool] = False
    knobs: ClassVar[tuple[str, ...]] = ()

    def at(self, epoch: float) -> Plain:
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
    ) -> Tensor:
        """The images as they are."""
        return x

    def charge(self, f: Callable[..., Tensor], views: Tensor, y: Tensor) -> Charged:
        """One pass of f."""
        logits = f(laid_out(f, views))
        hits = (logits.argmax(-1) == y).float().mean()
        return Charged({"cross_entropy": CrossEntropy()(logits[None], y).mean()}, {"accuracy": hits})

    def watch(
        self, f: Callable[..., Tensor], x: Tensor, y: Tensor, generator: torch.Generator | None = None
    ) -> dict[str, Tensor]:
        """How many images f gets right."""
        return watched(self, f, x, y, generator)
