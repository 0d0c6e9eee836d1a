"""Votes an image needs under `paper`, `curve` and `adaptive`, on the p_A of the paper's own published logs.

    python bench/votes_needed.py [--logs DIR] [--out FILE.json]        (about a minute and a half)

The logs give a radius per image; the votes behind it are known up to the three printed digits, and a binned
EM recovers the distribution of z = Φ⁻¹(p_A) (0.01 cells, 60 iterations, apart for right and wrong images).
Abstained images carry no radius: they are ASSUMED to continue the density at z = 0⁺ downwards as a triangle,
right as often as their neighbours at 0.02 < z < 0.22. The n₀ guess is taken as in the log, alike for all.

`paper` and `curve` are exact sums over all paths. `adaptive` is simulated on the very votes `paper` sees, so
that only a paired difference is sampled. "label-aware" stops after n₀ votes when the guess is not the label:
such an image counts 0 whatever follows, so the metrics are the same.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, gammaln, ndtr, ndtri

from smoothcert.stats.binomial import error_bound
from smoothcert.stats.group_sequential import SequentialTable, error_rate, sequential_table
from smoothcert.stats.planning import VotePlan, plan_votes, top_up

Floats = NDArray[np.float64]
Mass = tuple[int, Floats]  # P[errors = first + i]

N0, N, ALPHA = 100, 100_000, 0.001  # of the logs
POINTS = np.arange(-1.5, 5, 0.005) + 0.0025  # z; two points a cell: certifying is decided within some 0.005
RATES = ndtr(-POINTS)
PATHS = 200  # simulated at every point, for `adaptive`
# the radius columns of the paper's main tables, and what `curve` may cost there (label-aware)
GRIDS = {"mnist": np.arange(11) / 4, "cifar10": np.arange(10) / 4, "imagenet": np.arange(8) / 2}
LIMITS = {("mnist", 1.0): 19_000, ("cifar10", 0.5): 16_000, ("cifar10", 1.0): 5_200}
TOLERANCE = 0.1  # points of certified accuracy below `paper`


@dataclass(frozen=True)
class Population:
    """The share of images at each of POINTS, with a right and with a wrong guess."""

    name: str
    dataset: str
    sigma: float
    right: Floats
    wrong: Floats


def recover(radius: Floats, sigma: float, iterations: int = 60) -> Floats:
    """argmax_w Π_i Σ_z w_z P_z[the printed radius is r_i] by EM, w constant on cells; Σ w = number of images."""
    certified = -sigma * ndtri(error_bound(np.arange(N // 2), N, ALPHA))
    printed = np.array([float(f"{r:.3}") for r in certified[certified > 0]])  # falls with the errors
    values, counts = np.unique(radius, return_counts=True)
    first = np.searchsorted(-printed, -values, side="left")
    last = np.searchsorted(-printed, -values, side="right") - 1
    if np.any(first > last):
        raise SystemExit(f"{(first > last).sum()} radii cannot come from n={N}, alpha={ALPHA}")
    votes = np.int64(N)
    seen = bdtr(1.0 * last, votes, RATES[:, None])
    seen = seen - np.where(first > 0, bdtr(np.maximum(first - 1.0, 0.0), votes, RATES[:, None]), 0)
    seen = seen.clip(0).reshape(-1, 2, values.size).mean(1)  # (cells, values)
    mass = np.full(len(seen), 1 / len(seen))
    for _ in range(iterations):
        mass = (mass[:, None] * seen / np.maximum(mass @ seen, 1e-300)) @ (counts / counts.sum())
    return np.repeat(mass, 2) / 2 * len(radius)


def read(path: Path) -> Population:
    match = re.match(r"([a-z0-9]+)_.*sigma([\d.]+)\.tsv\.gz", path.name)
    if match is None:
        raise SystemExit(f"{path.name}: the name must start with the data set and end with its sigma")
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    sigma = float(match[2])
    groups = {
        right: np.array([float(r["radius"]) for r in rows if r["predict"] != "-1" and r["correct"] == right])
        for right in "10"
    }
    right, wrong = (recover(groups[key], sigma) / len(rows) for key in "10")
    abstained = 1 - sum(len(group) for group in groups.values()) / len(rows)
    near = (POINTS > 0.02) & (POINTS < 0.22)
    density = (right + wrong)[near].sum() / 0.2
    triangle = np.clip(1 + POINTS * density / (2 * abstained), 0, None) * (POINTS < 0)
    triangle *= abstained / triangle.sum()
    share = right[near].sum() / (right + wrong)[near].sum()
    return Population(path.name[:-7], match[1], sigma, right + share * triangle, wrong + (1 - share) * triangle)


def paper_power(z: Floats) -> Floats:
    """P[radius ≥ z_j] of CERTIFY at every point: (points, radii), exact."""
    bounds = error_bound(np.arange(N // 2), N, ALPHA)
    most = np.array([np.searchsorted(bounds, error_rate(value), side="right") - 1.0 for value in z])
    return np.where(most < 0, 0.0, bdtr(np.maximum(most, 0), np.int64(N), RATES[:, None]))


def binomial(n: int, q: float) -> Mass:
    reach = 9 * np.sqrt(n * q) + 45
    k = np.arange(max(0, int(n * q - reach)), min(n, int(n * q + reach)) + 1)
    log_p = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + k * np.log(q) + (n - k) * np.log1p(-q)
    return int(k[0]), np.exp(log_p)


def add(one: Mass, other: Mass) -> Mass:
    low = min(one[0], other[0])
    total = np.zeros(max(one[0] + one[1].size, other[0] + other[1].size) - low)
    for first, mass in (one, other):
        total[first - low : first - low + mass.size] += mass
    return low, total


def curve_power(table: SequentialTable, q: float) -> tuple[Floats, float]:
    """(P[radius ≥ z_j])_j and E[votes] of `curve` at error rate q: the exact sum over all paths.

    Open paths are mass over (errors, set of rejected hypotheses); of the sets, few are ever met.
    """
    bits = 1 << np.arange(table.z.size)
    leading = np.array([(~rejected & (rejected + 1)).bit_length() - 1 for rejected in range(2 * int(bits[-1]))])
    done, votes, before = np.zeros(table.z.size + 1), 0.0, 0
    paths: dict[int, Mass] = {0: (0, np.ones(1))}
    for k, n in enumerate(table.looks.tolist()):
        votes += (n - before) * sum(float(mass.sum()) for _, mass in paths.values())
        first, step = binomial(n - before, q)
        before, arrived, paths = n, paths, {}
        for rejected, (low, mass) in arrived.items():
            mass, low = np.convolve(mass, step), low + first
            errors = low + np.arange(mass.size)
            now = rejected | ((errors[:, None] <= table.accept[:, k]) @ bits)
            certified = leading[now]
            stop = errors >= table.futile[certified, k]
            done += np.bincount(certified[stop], mass[stop], minlength=done.size)
            for state in set(now[~stop].tolist()):
                here = np.flatnonzero(~stop & (now == state) & (mass > 1e-14))
                if here.size:  # one run: the sets shrink as errors grow, and so does what stops
                    piece = (low + int(here[0]), mass[here[0] : here[-1] + 1])
                    paths[state] = add(paths[state], piece) if state in paths else piece
        if not paths:
            break
    return done[::-1].cumsum()[::-1][1:], votes


def adaptive_runs(plan: VotePlan, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Error bounds of `adaptive`, of `paper` from the same votes, and votes of `adaptive`: (points, PATHS)."""
    rng = np.random.default_rng(seed)
    q = np.repeat(RATES[:, None], PATHS, axis=1)
    pilot = rng.binomial(N0, q)
    n = plan.planned(pilot)
    errors = rng.binomial(n, q)
    at_paper = errors + rng.binomial(N - n, q)
    more = top_up(plan, pilot, errors)
    at_cap = at_paper + rng.binomial(plan.cap - N, q)
    ours = error_bound(errors, n, plan.levels[0])
    for i in zip(*np.nonzero(more), strict=True):
        ours[i] = min(ours[i], float(plan.bound(int(n[i]))(at_cap[i], plan.cap, ALPHA)))
    return ours, error_bound(at_paper, N, ALPHA), N0 + np.where(more, plan.cap, n)


@dataclass(frozen=True)
class Powers:
    """What a procedure does to an image at each of POINTS: P[radius ≥ z_j], E[votes], E[radius / σ]."""

    certified: Floats  # (points, radii)
    votes: Floats  # (points,)
    radius: Floats | None = None


def compare(population: Population, powers: dict[str, Powers], z: Floats) -> dict[str, Any]:
    """One row: votes with and without the label, and certified accuracy beside `paper`'s, radius by radius."""
    row: dict[str, Any] = {"log": population.name, "radii": (z * population.sigma).round(6).tolist()}
    everyone = population.right + population.wrong
    for name, power in powers.items():
        accuracy = 100 * population.right @ (power.certified - powers["paper"].certified)
        row[name] = {
            "votes_label_aware": float(N0 * population.wrong.sum() + population.right @ power.votes),
            "votes_label_free": float(everyone @ power.votes),
            "accuracy": (100 * population.right @ power.certified).round(3).tolist(),
            "accuracy_minus_paper": accuracy.round(4).tolist(),
        }
        if power.radius is not None and powers["paper"].radius is not None:
            ratio = population.right @ power.radius / (population.right @ powers["paper"].radius)
            row[name]["acr_minus_paper_percent"] = float(100 * (ratio - 1))
    limit = LIMITS.get((population.dataset, population.sigma))
    row["curve"]["limit"] = limit
    row["ok"] = min(row["curve"]["accuracy_minus_paper"]) >= -TOLERANCE
    row["ok"] &= limit is None or row["curve"]["votes_label_aware"] <= limit
    return row


def powers_on(z: tuple[float, ...]) -> dict[str, Powers]:
    """All procedures on one grid of reachable radii."""
    grid = np.array(z)
    table = sequential_table(z, ALPHA, N)
    curve = [curve_power(table, float(q)) for q in RATES]
    ours, paper, votes = adaptive_runs(plan_votes(ALPHA, z, N0, N))
    exact = paper_power(grid)
    limits = np.array([error_rate(value) for value in z])
    gain = np.array([[(b <= q).mean() for q in limits] for b in ours])
    gain -= np.array([[(b <= q).mean() for q in limits] for b in paper])
    radius, paper_radius = (np.maximum(0.0, -ndtri(b)).mean(axis=1) for b in (ours, paper))
    return {
        "paper": Powers(exact, np.full(POINTS.size, float(N0 + N)), paper_radius),
        "curve": Powers(np.array([c for c, _ in curve]), N0 + np.array([v for _, v in curve])),
        "adaptive": Powers(exact + gain, votes.mean(axis=1), radius),
    }


def show(row: dict[str, Any]) -> None:
    print(f"\n{row['log']}{'' if row['ok'] else '   NOT AS REQUIRED'}")
    for name in ("paper", "curve", "adaptive"):
        own = row[name]
        aware, free = own["votes_label_aware"], own["votes_label_free"]
        limit = f"  (limit {own['limit']:,})" if own.get("limit") else ""
        acr = f"  ACR {own['acr_minus_paper_percent']:+.2f} %" if name == "adaptive" else ""
        print(f"  {name:9} votes/image {aware:9,.0f} label-aware {limit} {free:9,.0f} label-free{acr}")
    print("  radius   ", *(f"{r:7.2f}" for r in row["radii"]))
    print("  paper    ", *(f"{a:7.2f}" for a in row["paper"]["accuracy"]))
    for name in ("curve", "adaptive"):
        print(f"  {name:9}", *(f"{a:+7.3f}" for a in row[name]["accuracy_minus_paper"]))


def main() -> int:
    root = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--logs", type=Path, default=root.parent / "shared" / "reference-logs")
    parser.add_argument("--out", type=Path, help="write everything as JSON")
    options = parser.parse_args()
    files = sorted(options.logs.glob("*.tsv.gz"))
    if not files:
        raise SystemExit(f"no *.tsv.gz logs in {options.logs}: give their directory with --logs")
    start, rows, known = time.time(), [], {}
    for path in files:
        population = read(path)
        reach = sequential_table(GRIDS[population.dataset] / population.sigma, ALPHA, N).z
        key = tuple(reach.tolist())
        if key not in known:
            known[key] = powers_on(key)
        rows.append(compare(population, known[key], reach))
        show(rows[-1])
    print(
        f"\n{time.time() - start:.0f} s; alpha={ALPHA}, n0={N0}, n={N:,}; accuracies in points, paper's and beside it"
    )
    if options.out:
        options.out.write_text(json.dumps({"alpha": ALPHA, "n0": N0, "n": N, "rows": rows}, indent=1) + "\n")
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
