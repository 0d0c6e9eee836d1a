"""What a joint test of the two first classes could add to `--bound pair`, on the votes of real logs.

    python bench/pair_joint.py [--every K] [--n N ...] [LOG ...]       (default: three of results/runs; some minutes)

Votes are thinned to n without replacement. e of them are against the class, b for the strongest other one. Any
statistic T(e, b) that falls with both gives a sound bound [Buehler 1957],

    R(e, b) = inf {ρ(p): P_p[T(E, B) ≥ T(e, b)] > α},   ρ(p) = (Φ⁻¹(p_A) − Φ⁻¹(p_B)) / 2, in units of σ,

the largest of all bounds that rise with T. Proof: where R(X) > ρ(p), P_p[T ≥ T(X)] ≤ α, which happens with probability
≤ α. The true second class is one fixed class, and B is at least its count; T falls with B, so that count may stand for
B. E ~ Bin(n, q) and, given E, B ~ Bin(E, p_B / q): P_p is a single sum. Its infimum is searched over q = 1 − p_A; here
it is as good as that search: a measurement, not a certificate.

    single, pair   the bounds of the library
    same order     T = the radius of `pair`: no bound that agrees with `pair` about which votes are better can be larger
    other order    T = ρ̂ − 3.09 standard errors, with 4 votes more against the class and for the second one
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import bdtr, ndtri
from scipy.stats import binom, norm

from smoothcert.records.log import read_certification
from smoothcert.records.parts import whole_path
from smoothcert.records.row import Row
from smoothcert.stats.binomial import error_bound
from smoothcert.stats.pair import TOP_SHARE

ALPHA, SHRINK = 0.001, 4
Ints, Floats = NDArray[np.int64], NDArray[np.float64]
Order = Callable[[Ints, Ints], Floats]
LOGS = ("mnist-gaussian-1.00-seed0", "mnist-consistency-1.00-seed0", "mnist-consistency-0.50-seed0")


def rho(q: Floats | float, second: Floats | float) -> Floats:
    return np.asarray(-(ndtri(q) + ndtri(second)) / 2)


def pair_order(n: int) -> Order:
    counts = np.arange(n + 1)
    first, second = (error_bound(counts, n, ALPHA * share) for share in (TOP_SHARE, 1 - TOP_SHARE))
    return lambda e, b: rho(first[e], np.minimum(second[b], first[e]))


def other_order(n: int) -> Order:
    def order(e: Ints, b: Ints) -> Floats:
        q = np.minimum((e + SHRINK) / (n + SHRINK), 1 - 1e-3)
        p = np.minimum((b + SHRINK) / (n + SHRINK), q)
        slope_q, slope_p = (0.5 / norm.pdf(ndtri(x)) for x in (q, p))
        spread = slope_q**2 * q * (1 - q) + slope_p**2 * p * (1 - p) + 2 * slope_q * slope_p * p * (1 - q)
        return np.asarray(rho(q, p) - norm.isf(ALPHA) * np.sqrt(spread / n))

    return order


def most_second(order: Order, e: Ints, least: float) -> Ints:
    """max{b ≤ e: T(e, b) ≥ least} for every e; −1: none."""
    low, high = np.full(e.shape, -1), e + 1
    while (open_ := high - low > 1).any():
        middle = np.where(open_, (low + high) // 2, 0)
        enough = order(e, middle) >= least
        low, high = np.where(open_ & enough, middle, low), np.where(open_ & ~enough, middle, high)
    return low


def joint(order: Order, n: int, e: int, b: int) -> float:
    """R(e, b) as above."""
    here = float(order(np.array([e]), np.array([b]))[0]) - 1e-12
    top = 2 * float(error_bound(e, n, ALPHA))
    counts = np.arange(min(n, int(binom.isf(1e-12, n, min(top, 0.999)))) + 1)
    most = most_second(order, counts, here)

    def probability(q: float, second: float) -> float:
        window = slice(*(int(binom.ppf(tail, n, q)) for tail in (1e-12, 1 - 1e-12)))
        c, k = counts[window], most[window]
        below = np.where(k >= c, 1.0, np.where(k < 0, 0.0, bdtr(np.clip(k, 0, c).astype(float), c, min(second / q, 1))))
        return float(binom.pmf(c, n, q) @ below)

    def least_radius(log_q: float) -> float:
        """Of all p with this q and P_p > α."""
        q = float(np.exp(log_q))
        if probability(q, q) >= ALPHA:
            return float(rho(q, q))
        if probability(q, 1e-9) < ALPHA:
            return 9.0
        root = brentq(lambda log: probability(q, np.exp(log)) - ALPHA, np.log(1e-9), log_q, xtol=1e-6)
        return float(rho(q, np.exp(root)))

    grid = np.linspace(np.log(max(e, 0.5) * 0.8 / n), np.log(min(top, 0.98)), 20)
    found = [least_radius(x) for x in grid]
    i = int(np.argmin(found))
    ends = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
    finer = minimize_scalar(least_radius, bounds=ends, method="bounded", options={"xatol": 1e-3})
    return max(0.0, min(found[i], float(finer.fun)))


def thinned(row: Row, n: int, rng: np.random.Generator) -> tuple[int, int] | None:
    """Votes against the class and for the strongest other one; None where the class is not the label."""
    votes = {int(c): count for c, count in row["estimation"].items()}
    chosen = int(max(row["selection"], key=lambda c: (row["selection"][c], -int(c))))
    counts = np.array([votes.get(c, 0) for c in range(10)])
    if n < counts.sum():
        counts = rng.multivariate_hypergeometric(counts, n)
    return (n - int(counts[chosen]), int(np.delete(counts, chosen).max())) if chosen == row["label"] else None


def line(path: Path, n: int, every: int) -> str:
    rng, log = np.random.default_rng(0), read_certification(whole_path(path))
    pair, known, total = pair_order(n), dict[tuple[int, int], Floats](), np.zeros(4)
    rows = [row for row in log.rows if row["index"] % (100 * every) == 0]
    for row in rows:
        seen = thinned(row, n, rng)
        if seen is None or error_bound(seen[0], n, ALPHA) > 0.45:
            continue
        if seen not in known:
            single = -float(ndtri(error_bound(seen[0], n, ALPHA)))
            said = float(pair(np.array([seen[0]]), np.array([seen[1]]))[0])
            known[seen] = np.array([single, said, joint(pair, n, *seen), joint(other_order(n), n, *seen)])
        total += known[seen]
    single, said, same, other = total / len(rows)
    gains = (f"{value:.4f} ({100 * (value / said - 1):+.2f} %)" for value in (same, other))
    return f"{path.name[:44]:44} {n:7,} {len(rows):4} {single:.4f} {said:.4f}  " + "  ".join(gains)


def main() -> None:
    runs = Path(__file__).resolve().parents[1] / "results" / "runs"
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logs", type=Path, nargs="*", default=[runs / name for name in LOGS])
    parser.add_argument("--every", type=int, default=5, help="take every k-th image of a log")
    parser.add_argument("--n", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    args = parser.parse_args()
    print(
        "log, n, images; average radius in units of σ: single, pair, joint test in the same order, in the other order"
    )
    for path in args.logs:
        for n in args.n:
            print(line(path, n, args.every), flush=True)


if __name__ == "__main__":
    main()
