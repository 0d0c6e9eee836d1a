"""Objective: m noisy views of a batch, attacked where one asks for it, and the terms that charge for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast

from smoothcert.errors import InputError
from smoothcert.noise import AnyGaussian, Noise
from smoothcert.objectives.eval_mode import eval_mode
from smoothcert.objectives.goal import Task
from smoothcert.objectives.layout import laid_out
from smoothcert.objectives.look import Elsewhere, Look
from smoothcert.objectives.term import Term, declared, term_name

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Part = TypeVar("Part")


class Attack(Protocol):
    """Moves x to where the smoothed soft classifier charges more. It sees nothing else of the training.

    `g` gives for any x' the logits (m, B, K) of x' + δ_1, …, x' + δ_m: the noise is drawn once, and the terms
    charge under the same draws. The network behind it is in eval mode, and its weights ask for no gradient.
    `batch` is the number of images of the whole optimiser step, of which x may be a share; None: x is all of them.
    It may declare `knobs`, as a term does, and `views`: it is then shown only so many of the m draws.
    """

    def __call__(
        self, g: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, batch: int | None = None
    ) -> Tensor: ...  # → x_adv


class NoiseAttack(Protocol):
    """Moves the draws of the noise instead: it declares `moves_noise = True`.

    `g` gives the logits (m, B, K) of any views (m, B, …), in the same state of the network as for `Attack`.
    """

    def __call__(self, g: Callable[[Tensor], Tensor], x: Tensor, target: Tensor, delta: Tensor) -> Tensor: ...  # → δ


@dataclass(frozen=True)
class Views:
    """What the network will be asked about in a step: all of it is decided, and nothing has a gradient to x."""

    noisy: Tensor
    """(m, B, …): x̂ + δ_i, view by view"""
    clean: Tensor | None = None
    """(B, …): x̂ itself, where a term wants it"""
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)
    """by the names of the terms that look there"""


@dataclass(frozen=True)
class Charges:
    """One mean charge per term, and the logits of the noisy views they were computed from."""

    terms: dict[str, Tensor]
    logits: Tensor  # (m, B, K)

    @property
    def loss(self) -> Tensor:
        return sum(self.terms.values())  # type: ignore[return-value]

    def seen(self, y: Tensor) -> dict[str, Tensor]:
        """The share of noisy views that f gets right."""
        return {"noisy_accuracy": (self.logits.argmax(-1) == y).float().mean()}


@dataclass(frozen=True)
class Objective:
    """E_x Σ_terms term(f(x̂ + δ_1), …, f(x̂ + δ_m); y),  δ_i ~ noise,  x̂ = attack(x), or x without one.

    An attack may also move the draws δ_i, and a term may ask about views of its own: `NoisePGD`, `SmoothMix`, `CatRS`.

    Usable in any training loop: `objective.at(epoch)(f, x, y).loss.backward()`.

    Args:
        noise: the law of δ
        terms: what is charged, each kind once
        m: noisy views per image
        attack: moves x, or the draws, before they are charged; SmoothAdv is an objective with one
        ramp: epochs over which λ and η of every term rise from 0 to what they are; 0: they are so from the start

    Example:
        >>> import torch
        >>> from smoothcert import Consistency, CrossEntropy, Gaussian
        >>> objective = Objective(Gaussian(0.5), (CrossEntropy(), Consistency(lbd=10)), m=2)
        >>> x, y = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 2])
        >>> f = torch.nn.Flatten()
        >>> sorted(objective(f, x, y).terms)
        ['consistency', 'cross_entropy']
    """

    noise: Noise
    terms: tuple[Term, ...]
    m: int = 1
    attack: Attack | NoiseAttack | None = None
    ramp: float = 0.0
    task: ClassVar[Task] = "classify"
    about: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        if not 0 <= self.ramp < math.inf:
            raise InputError(f"ramp must be a number of epochs >= 0, not {self.ramp}")
        if not self.terms:
            raise InputError("an objective needs at least one term")
        if self.m < 1:
            raise InputError(f"m must be at least 1, not {self.m}")
        if len(set(map(term_name, self.terms))) < len(self.terms):
            raise InputError(
                "an objective takes each kind of term once: add up their weights, or rename one of your own"
            )
        views = declared(self.attack).views
        if views is not None and (type(views) is not int or not 1 <= views <= self.m):
            raise InputError(f"the attack's views must be a number from 1 to m={self.m}, not {views}")
        for term in self.terms:
            name = type(term).__name__
            if self.m < declared(term).least_m:
                raise InputError(f"{name} needs m >= {declared(term).least_m} noisy views per image, not m={self.m}")
            sigma = getattr(term, "sigma", None)
            fits = isinstance(self.noise, AnyGaussian) and self.noise.sigma == sigma
            if sigma is not None and not fits:
                raise InputError(f"{name}(sigma={sigma}) needs the noise Gaussian({sigma}), not {self.noise}")

    @property
    def attacked_views(self) -> int:
        """How many of the m views an attack is shown; 0 where there is none. One that moves the noise sees it all."""
        about = declared(self.attack)
        return 0 if self.attack is None else self.m if about.views is None or about.moves_noise else about.views

    @property
    def wants_clean(self) -> bool:
        """Whether a term is charged for the image without noise too."""
        return any(declared(term).wants_clean for term in self.terms)

    @property
    def wants_votes(self) -> bool:
        """Whether a term needs the hard votes of a first network on each image."""
        return any(declared(term).wants_votes for term in self.terms)

    @property
    def law(self) -> str:
        """Its noise in two words, such as Gaussian 0.5."""
        return f"{type(self.noise).__name__} {self.noise.scale:g}"

    @property
    def knobs(self) -> tuple[str, ...]:
        """The hyperparameters one must choose beyond those of plain training under noise, m counted once.

        The paper's table 3 counts so: none for Gaussian, λ and η for Consistency (m = 2 throughout), ε, T, m
        and warm-up for SmoothAdv, λ, γ, β and m for MACER.
        """
        parts = {term_name(term): declared(term).knobs for term in self.terms}
        if self.attack is not None:
            parts["attack"] = declared(self.attack).knobs
        named = [k if k == "m" else f"{part}.{k}" for part, knobs in parts.items() for k in knobs]
        return tuple(dict.fromkeys(named))

    def at(self, epoch: float) -> Objective:
        """The objective as it is in epoch 0, 1, …: attacks that warm up, terms that start later, weights that rise.

        Args:
            epoch: counted from 0; within an epoch a fraction, which `ramp` alone follows

        Returns:
            an objective that changes no more

        Example:
            >>> from smoothcert import CrossEntropy, Gaussian, PGD
            >>> attack = PGD(epsilon=1.0, steps=4, warmup=10)
            >>> Objective(Gaussian(0.5), (CrossEntropy(),), attack=attack).at(4).attack.epsilon
            0.5
        """
        terms = tuple(_at(term, int(epoch)) for term in self.terms)
        if epoch < self.ramp:
            terms = tuple(_weakened(term, epoch / self.ramp) for term in terms)
        return replace(self, terms=terms, attack=_at(self.attack, int(epoch)), ramp=0.0)

    def __call__(
        self,
        f: Callable[[Tensor], Tensor],
        x: Tensor,
        y: Tensor,
        generator: torch.Generator | None = None,
        votes: Tensor | None = None,
    ) -> Charges:
        return self.charge(f, self.views(f, x, y, generator, votes=votes), y)

    def views(
        self,
        f: Callable[[Tensor], Tensor],
        x: Tensor,
        y: Tensor,
        generator: torch.Generator | None = None,
        within: tuple[int, int] | None = None,
        votes: Tensor | None = None,
    ) -> Views:
        """All that the network is to be asked about: x̂ + δ_i, x̂ itself where a term wants it, what terms add to it.

        All the cost of attacks is here, and the rest in `charge`, so that both can be timed.

        Args:
            f: the network, in the mode it is trained in
            x: (B, …) images
            y: (B,) labels
            generator: draws the noise, and then what terms draw; None: torch's own
            within: (start, total) says that x is images start … of a batch of `total`, and asks for the noise they
                would have there
            votes: (B, K) shares of the votes of a first network on each image, for terms that want them

        Returns:
            the views, without a gradient to x

        Example:
            >>> import torch
            >>> from smoothcert import Consistency, CrossEntropy, Gaussian
            >>> objective = Objective(Gaussian(0.5), (CrossEntropy(), Consistency(lbd=10)), m=2)
            >>> x, y = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 2])
            >>> f = torch.nn.Flatten()
            >>> objective.views(f, x, y).noisy.shape
            torch.Size([2, 3, 1, 2, 2])
        """
        self._require_votes(votes, len(x))
        start, total = within or (0, len(x))
        delta = self.noise.fill(x.new_empty((self.m, total, *x.shape[1:])), generator)
        if total > len(x):
            delta = delta[:, start : start + len(x)].contiguous()
        x_hat, looking = x, [term for term in self.terms if hasattr(term, "elsewhere")]
        elsewhere: dict[str, Elsewhere] = {}

        def g(views: Tensor) -> Tensor:
            return _logits(f, views)

        if self.attack is not None:
            with eval_mode(f):
                if declared(self.attack).moves_noise:
                    delta = cast(NoiseAttack, self.attack)(g, x, y, delta)
                else:
                    seen = delta[: self.attacked_views]
                    x_hat = cast(Attack, self.attack)(lambda x_adv: g(seen + x_adv), x, y, batch=total)
        if looking:
            look = Look(g, x, x_hat, y, delta, votes, generator, (start, total))
            with eval_mode(f):
                elsewhere = {term_name(term): term.elsewhere(look) for term in looking}
        noisy = delta + x_hat if looking else delta.add_(x_hat)  # in the buffer of the draw, if nobody else has it
        return Views(noisy, x_hat.contiguous() if self.wants_clean else None, elsewhere)

    def _require_votes(self, votes: Tensor | None, images: int) -> None:
        if self.wants_votes and votes is None:
            name = next(type(term).__name__ for term in self.terms if declared(term).wants_votes)
            raise InputError(f"{name} needs the votes of a first network on each image: give `votes`")
        if votes is not None and len(votes) != images:
            raise InputError(f"votes are of {len(votes)} images, and the batch has {images}")

    def charge(self, f: Callable[[Tensor], Tensor], views: Views, y: Tensor) -> Charges:
        """What the terms charge for `views`: one forward pass over the noisy ones, after one over x̂ where it is wanted,
        before one for each term that looks elsewhere.

        A pass each, so that batch norm sees each alone: its statistics of all together would be of none.

        Args:
            f: the network
            views: as `views` gives them
            y: (B,) labels

        Returns:
            the mean charge of each term, and the logits

        Example:
            >>> import torch
            >>> from smoothcert import Consistency, CrossEntropy, Gaussian
            >>> objective = Objective(Gaussian(0.5), (CrossEntropy(), Consistency(lbd=10)), m=2)
            >>> x, y = torch.rand(3, 1, 2, 2), torch.tensor([0, 1, 2])
            >>> f = torch.nn.Flatten()
            >>> charges = objective.charge(f, objective.views(f, x, y), y)
            >>> bool(charges.loss == sum(charges.terms.values()))
            True
        """
        import torch

        clean = [] if views.clean is None else [_logits(f, views.clean.unsqueeze(0))]
        noisy = _logits(f, views.noisy)
        both = torch.cat([*clean, noisy]) if clean else noisy
        there = {
            name: (None if place.views is None else _logits(f, place.views), *place.aside)
            for name, place in views.elsewhere.items()
        }
        charges = {}
        for term in self.terms:
            name, logits = term_name(term), both if declared(term).wants_clean else noisy
            charges[name] = term(logits, y, *there.get(name, ())).mean()
        return Charges(charges, noisy)

    def watch(
        self, f: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, generator: torch.Generator | None = None
    ) -> dict[str, Tensor]:
        """How many images f gets right under one noise draw: what is watched of test images.

        Args:
            f: the network
            x: (B, …) images
            y: (B,) labels
            generator: draws the noise; None: torch's own

        Returns:
            {"noisy_accuracy": their number}

        Example:
            >>> import torch
            >>> from smoothcert import CrossEntropy, Gaussian
            >>> x, y = torch.zeros(3, 1, 2, 2), torch.tensor([0, 1, 2])
            >>> nearly_none = Objective(Gaussian(1e-9), (CrossEntropy(),))
            >>> nearly_none.watch(lambda x: torch.eye(3), x, y)
            {'noisy_accuracy': tensor(3)}
        """
        return {"noisy_accuracy": (f(x + self.noise.sample_like(x, generator)).argmax(1) == y).sum()}


def _logits(f: Callable[[Tensor], Tensor], views: Tensor) -> Tensor:  # (n, B, …) → (n, B, K)
    inputs = laid_out(f, views.flatten(0, 1))
    return f(inputs).unflatten(0, (views.shape[0], views.shape[1]))


def _at(part: Part, epoch: int) -> Part:
    at: Callable[[int], Part] | None = getattr(part, "at", None)
    return part if at is None else at(epoch)


def _weakened(term: Term, share: float) -> Term:
    """Its weights, wherever it has them, times share."""
    weights = {name: share * getattr(term, name) for name in ("lbd", "eta") if hasattr(term, name)}
    return replace(term, **weights) if weights else term  # type: ignore[type-var]
