"""CAT-RS: each image charged by how sure one can be of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from smoothcert.attacks.noise_attack import NoisePGD
from smoothcert.errors import InputError
from smoothcert.objectives.look import Elsewhere, Look
from smoothcert.objectives.term import log_p_y, require_weight

if TYPE_CHECKING:
    from torch import Tensor

CONFIDENCES = ("own", "first")


@dataclass(frozen=True)
class CatRS:
    """1/m Σ_{i ≤ k} ℓ_(i) + λ 1[k = m] max_i KL(ŷ ‖ softmax f(x + δ_i*)),  k ~ max(1, Bin(m, q))   [Jeong et al. 2023].

    ℓ_(1) ≤ … ≤ ℓ_(m) are the cross-entropies of the m noisy views: of an image that is hard under noise only the
    easiest views are charged, and the worst case only of one that is easy. ŷ are the shares of the votes of a first
    network, trained beforehand (`votes`); δ_i* are the draws moved to where KL(ŷ ‖ ·) is larger, by
    `NoisePGD(epsilon, steps, keep="moments")`. It takes the place of `CrossEntropy`: with q = 1 and λ = 0 it is that.

    The text has q = ŷ_y. The released code, and so the default here, takes the share of the m views that the network in
    training gets right. There the attack sees the batch norm after the step's noisy pass; here before.

    Args:
        lbd: λ, the weight of the worst case
        epsilon: radius ε of the attack around each draw, in units of the image range
        steps: T of the attack
        confidence: q is that of the network in training ("own"), or ŷ_y of the first network ("first")

    Example:
        >>> import torch
        >>> from smoothcert import Gaussian, Objective
        >>> cat_rs = Objective(Gaussian(0.5), (CatRS(lbd=1.0),), m=4)
        >>> x, y = torch.full((3, 1, 2, 2), 0.5), torch.tensor([0, 1, 2])
        >>> votes = torch.eye(4)[y]  # of a first network that is always right
        >>> cat_rs(torch.nn.Flatten(), x, y, votes=votes).loss.shape
        torch.Size([])
    """

    lbd: float
    epsilon: float = 1.0
    steps: int = 4
    confidence: str = "own"
    called: ClassVar[str] = "cat_rs"
    least_m: ClassVar[int] = 1
    wants_clean: ClassVar[bool] = False
    wants_votes: ClassVar[bool] = True
    knobs: ClassVar[tuple[str, ...]] = ("lbd", "epsilon", "steps", "m")

    def __post_init__(self) -> None:
        require_weight(self, lbd=self.lbd, epsilon=self.epsilon)
        if self.steps < 0:
            raise InputError(f"CatRS: steps must be at least 0, not {self.steps}")
        if self.confidence not in CONFIDENCES:
            raise InputError(f"CatRS: confidence must be {' or '.join(CONFIDENCES)}, not {self.confidence[:80]!r}")

    def elsewhere(self, look: Look) -> Elsewhere:
        """The views x + δ_i*, ŷ, and m uniform numbers from which k is made."""
        assert look.votes is not None
        uniform = look.uniform(len(look.delta))
        if self.lbd == 0:
            return Elsewhere(None, (look.votes, uniform))
        attack = NoisePGD(self.epsilon, self.steps, keep="moments")
        return Elsewhere(attack(look.g, look.x_hat, look.votes, look.delta) + look.x_hat, (look.votes, uniform))

    def __call__(
        self, logits: Tensor, y: Tensor, attacked: Tensor | None, votes: Tensor, uniform: Tensor
    ) -> Tensor:  # … → (B,)
        """From logits (m, B, K) at x + δ_i and at x + δ_i*, ŷ (B, K), and uniform numbers (m, B)."""
        import torch

        m = len(logits)
        if self.confidence == "own":
            q = (logits.argmax(-1) == y).to(uniform.dtype).mean(0)
        else:
            q = votes.gather(-1, y.unsqueeze(-1)).squeeze(-1)
        k = (uniform < q).sum(0).clamp(min=1)  # Σ_i 1[u_i < q] ~ Bin(m, q); at q = 1 it is m
        losses = (-log_p_y(logits, y)).sort(0).values
        low = losses.where(torch.arange(m, device=y.device).unsqueeze(-1) < k, 0.0).sum(0) / m
        if attacked is None:
            return low
        kl = torch.xlogy(votes, votes).sum(-1) - (votes * attacked.log_softmax(-1)).sum(-1)  # (m, B)
        return low + self.lbd * kl.max(0).values.where(k == m, 0.0)
