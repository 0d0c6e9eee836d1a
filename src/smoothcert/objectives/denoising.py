"""Training a denoiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, Noise
from smoothcert.objectives.goal import Charged, Task, watched
from smoothcert.objectives.layout import laid_out
from smoothcert.objectives.share import normal_like, whole_numbers
from smoothcert.objectives.term import require_weight

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Noisy:
    """Noisy images, the level of noise of each, and what they were."""

    x_noisy: Tensor  # (B, C, H, W)
    sigma: Tensor  # (B,)
    x: Tensor


@dataclass(frozen=True)
class Denoising:
    """E [ a ‖x̂ − x‖²/d + b CE(softmax F(x), softmax F(x̂)) ],  x̂ = D(x + δ, σ), δ ~ N(0, σ²I)   [Salman et al. 2020].

    The mean squared error a is what denoisers are commonly trained by [Zhang et al. 2017]. The stability b asks that a
    given classifier F says of the denoised image what it says of the image: no labels are needed. F is frozen, in
    evaluation mode, and its soft prediction is the target; the authors take its hard one.

    Args:
        sigmas: σ of each image is one of these, all as likely; of several, one denoiser learns all
        mse: a
        stability: b; above 0 it needs a classifier, see `Through`
        classifier: SHA-256 of F, by which a run is told from one with another: `train` fills it in

    Example:
        >>> import torch
        >>> x, y = torch.rand(3, 1, 4, 4), torch.tensor([0, 1, 2])
        >>> objective = Denoising(sigmas=(0.5,))
        >>> noisy = objective.views(None, x, y)
        >>> charges = objective.charge(lambda x, sigma: x - (noisy.x_noisy - noisy.x), noisy, y)
        >>> round(charges.loss.item(), 6)  # it knew the noise
        0.0
    """

    sigmas: tuple[float, ...] = (0.25, 0.5, 1.0)
    mse: float = 1.0
    stability: float = 0.0
    classifier: str | None = None
    task: ClassVar[Task] = "denoise"
    about: ClassVar[dict[str, Any]] = {"task": "denoise"}
    terms: ClassVar[tuple[Any, ...]] = ()
    attack: ClassVar[None] = None
    m: ClassVar[int] = 1
    wants_clean: ClassVar[bool] = False
    wants_votes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.sigmas or len(set(self.sigmas)) < len(self.sigmas):
            raise InputError("a denoiser needs at least one sigma, each once")
        for sigma in self.sigmas:
            Gaussian(sigma)  # refuses what is none
        require_weight(self, mse=self.mse, stability=self.stability)
        if self.mse == self.stability == 0:
            raise InputError("Denoising: mse and stability are both 0: nothing would be learnt")
        if self.classifier is not None and not self.stability:
            raise InputError("Denoising: a classifier is for its stability, which is 0")

    @property
    def noise(self) -> Noise | None:
        """Of one σ."""
        return Gaussian(self.sigmas[0]) if len(self.sigmas) == 1 else None

    @property
    def law(self) -> str:
        return "Gaussian " + ", ".join(f"{sigma:g}" for sigma in self.sigmas)

    @property
    def knobs(self) -> tuple[str, ...]:
        """The weight of one term against the other, where both are charged."""
        return ("stability",) if self.mse and self.stability else ()

    def at(self, epoch: float) -> Denoising:
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
    ) -> Noisy:
        """x + δ with a σ for each image; (start, total) of `within` says which images of a larger batch x is."""
        sigma = x.new_tensor(self.sigmas)
        if len(self.sigmas) > 1:
            sigma = sigma[whole_numbers(len(self.sigmas), x, generator, within)]
        sigma = sigma.expand(len(x))
        return Noisy(x + sigma[:, None, None, None] * normal_like(x, generator, within), sigma, x)

    def charge(
        self, f: Callable[..., Tensor], views: Noisy, y: Tensor, classifier: Callable[[Tensor], Tensor] | None = None
    ) -> Charged:
        """One pass of the denoiser f, and where the stability is charged two of the classifier."""
        import torch

        x_hat = f(laid_out(f, views.x_noisy), views.sigma)
        error = (x_hat - views.x).square().mean()
        terms, beside = ({"squared_error": self.mse * error} if self.mse else {}), {"mse": error}
        if self.stability:
            if classifier is None:
                raise InputError("the stability of a denoiser is charged through a classifier, which was not given")
            with torch.no_grad():
                target = classifier(views.x).softmax(-1)
            logits = classifier(x_hat)
            terms["stability"] = -self.stability * (target * logits.log_softmax(-1)).sum(-1).mean()
            beside["agreement"] = (logits.argmax(-1) == target.argmax(-1)).float().mean()
        return Charged(terms, beside)

    def watch(
        self, f: Callable[..., Tensor], x: Tensor, y: Tensor, generator: torch.Generator | None = None
    ) -> dict[str, Tensor]:
        """The squared error, summed over images, and how often the classifier stays with its class."""
        return watched(self, f, x, y, generator)


@dataclass(frozen=True)
class Through:
    """A `Denoising` with the classifier F that its stability is charged through.

    Args:
        goal: what is charged
        classifier: F, from images in [0, 1] to logits: frozen, in evaluation mode, with a gradient to the image
    """

    goal: Denoising
    classifier: Callable[[Tensor], Tensor]

    def at(self, epoch: float) -> Through:
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
    ) -> Noisy:
        """Those of the goal."""
        return self.goal.views(f, x, y, generator, within, votes)

    def charge(self, f: Callable[..., Tensor], views: Noisy, y: Tensor) -> Charged:
        """The goal's charges, through this classifier."""
        return self.goal.charge(f, views, y, self.classifier)

    def watch(
        self, f: Callable[..., Tensor], x: Tensor, y: Tensor, generator: torch.Generator | None = None
    ) -> dict[str, Tensor]:
        """The squared error, summed over images, and how often the classifier stays with its class."""
        return watched(self, f, x, y, generator)
