"""Average certified radius that a budget buys: shared out by pilots, against the same number of votes for every image.

    python bench/budget.py [LOG ...]        (default: results/runs; about a minute)

Each image of a log has a pilot, its selection votes, and an error rate, the share of its estimation votes not for the
class that the pilot chose. At that rate the expected radius after n votes is an exact sum over all counts, for both.
α = 0.001. Label-aware: the pilot's votes are counted for the label, and wrong images get next to nothing.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import binom

from smoothcert.records.log import CertificationLog, read_certification
from smoothcert.records.parts import whole_path
from smoothcert.stats.binomial import error_bound
from smoothcert.stats.budget import share_out

ALPHA, N0, MOST = 0.001, 100, 100_000
MEANS = (1_000, 3_000, 10_000, 30_000)


@cache
def expected_radius(n: int, rate: float) -> float:
    """E[max(0, −Φ⁻¹(CP(E of n; α)))], E ~ Bin(n, rate): in units of σ."""
    from scipy.special import ndtri

    low, high = (int(binom.ppf(tail, n, rate)) for tail in (1e-9, 1 - 1e-9))
    e = np.arange(low, high + 1)
    return float(binom.pmf(e, n, rate) @ np.maximum(0.0, -ndtri(error_bound(e, n, ALPHA))))


def row(log: CertificationLog, mean: int) -> str:
    assert log.header.noise is not None
    rates, wrong, aware = [], [], []
    for image in log.rows:
        chosen = max(image["selection"], key=lambda c: (image["selection"][c], -int(c)))
        n = sum(image["estimation"].values())
        rates.append(max(1 - image["estimation"].get(chosen, 0) / n, 0.35 / n))
        wrong.append(int(chosen) != image["label"])
        aware.append(N0 - image["selection"].get(str(image["label"]), 0))
    free = [N0 - max(image["selection"].values()) for image in log.rows]

    def acr(votes: list[int]) -> float:
        radii = [0.0 if w else expected_radius(n, round(q, 7)) for n, q, w in zip(votes, rates, wrong, strict=True)]
        return log.header.noise.scale * float(np.mean(radii))  # type: ignore[union-attr]

    fixed = acr([mean - N0] * len(log.rows))
    cells = [f"{log.path.parent.name[:44]:44} {mean:6,} {fixed:7.4f}"]
    for pilots in (free, aware):
        plan = share_out(pilots, mean * len(pilots), ALPHA, N0, MOST)
        found = acr([plan[e] for e in pilots])
        cells.append(f"{found:7.4f} {100 * (found / fixed - 1):+5.2f} %")
    return "  ".join(cells)


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logs", type=Path, nargs="*", default=sorted((root / "results" / "runs").iterdir()))
    print("log, votes an image; ACR with as many for each, shared out, shared out label-aware")
    for path in parser.parse_args().logs:
        log = read_certification(whole_path(path))
        for mean in MEANS:
            print(row(log, mean), flush=True)


if __name__ == "__main__":
    main()
