"""From certificates of single images, each wrong with probability ≤ α, to statements about all of them."""

from __future__ import annotations

from smoothcert.errors import InputError
from smoothcert.stats.binomial import lower_bound

_MARGIN = 1 - 1e-9  # for the rounding of a binomial tail


def robust_images(certified: int, images: int, alpha: float, delta: float) -> int:
    """t̲ = min{t: P[t + Bin(N − t, α) ≥ c] > δ}: so many of the N images are truly robust, after c certificates.

    Promise: P[t̲ > t] ≤ δ, where t is the true number of images that are classified rightly within the radius, the
    noise of different images is independent, and each image that is not robust gets a certificate with probability ≤ α.

    Proof. Only the N − t images that are not robust can be certified wrongly, so c is stochastically at most
    C_t = t + Bin(N − t, α). C_t rises with t (one more image is certain, not Bernoulli(α)), so P[C_t ≥ c] does too,
    and t̲ > t means P[C_t ≥ c] ≤ δ. The c with that property are all those from some c* on, and P[c ≥ c*] ≤ δ.
    At least as large as c minus the upper quantile of Bin(N, α), since N − t ≤ N.

    >>> robust_images(450, 500, 0.001, 0.01), robust_images(500, 500, 0.001, 0.01)
    (449, 500)
    """
    from scipy.special import bdtrc

    _require(certified, images, alpha, delta)

    def refuted(t: int) -> bool:
        wrong = certified - t  # so many certificates at least would be wrong
        return bool(bdtrc(wrong - 1, images - t, alpha) <= delta * _MARGIN)

    low, high = -1, certified  # refuted, not refuted: with t = c nothing needs to be wrong
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return high


def robust_share(certified: int, images: int, alpha: float, delta: float) -> float:
    """π ≥ (CP⁻(c of N; δ) − α) / (1 − α): the robust share of the population that the N images are drawn from.

    Promise: the bound is above π with probability ≤ δ, over images drawn independently from the population and over
    their independent noise.

    Proof. An image is robust with probability π. One that is not is certified with probability ≤ α, whatever became of
    the others. So c is stochastically at most Bin(N, a), a = π + (1 − π) α, and CP⁻ ≤ a but for probability δ; solve
    for π. Nothing is split between images and noise: both are drawn anew in this statement.

    >>> round(robust_share(450, 500, 0.001, 0.01), 4)
    0.8644
    """
    _require(certified, images, alpha, delta)
    return max(0.0, (float(lower_bound(certified, images, delta)) - alpha) / (1 - alpha) * _MARGIN)


def _require(certified: int, images: int, alpha: float, delta: float) -> None:
    if not 0 <= certified <= images or images < 1:
        raise InputError(f"{certified} certified images of {images}: that cannot be")
    if not (0 < alpha < 1 and 0 < delta < 1):
        raise InputError("alpha and 1 - confidence must lie strictly between 0 and 1")
