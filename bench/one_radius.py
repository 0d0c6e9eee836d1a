"""Votes that "is this image robust at r?" takes: group-sequential tests against betting, on the votes of real logs.

    python bench/one_radius.py [LOG ...]        (default: results/runs; about two minutes)

Each image of a log has an error rate: the share of its estimation votes not for its first class. At that rate
expected votes and the probability of "yes" are exact sums over all paths. All designs have the same cap, the same
futility rule, α = 0.001 and n = 100,000:

    curve     the exact group-sequential table of `certify --radius r`, looks 15 % apart
    -fine     the same with looks 5 % apart
    betting   the mixture martingale of `anytime`, looked at 15 % apart
    paper     100,000 votes for everybody
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import bdtr

from smoothcert.analysis import Results, read_results
from smoothcert.stats import group_sequential
from smoothcert.stats.binomial import error_bound
from smoothcert.stats.confidence_sequence import anytime_bound
from smoothcert.stats.group_sequential import SequentialTable, error_rate, sequential_table
from votes_needed import curve_power

ALPHA, N = 0.001, 100_000
SHARES = (0.25, 0.5, 0.75)  # radii asked about, of the largest that N votes can certify


def tables(z: float) -> dict[str, SequentialTable]:
    found = {}
    for suffix, ratio in (("", 1.15), ("-fine", 1.05)):
        group_sequential._RATIO = ratio
        table = sequential_table([z], ALPHA, N)
        found["curve" + suffix] = table
        found["betting" + suffix] = replace(table, accept=betting(table, error_rate(z)))
    group_sequential._RATIO = 1.15
    return found


def betting(table: SequentialTable, q: float) -> np.ndarray:
    """The most errors at each look with which the anytime bound is at most q; −1: none."""
    most = []
    for n in table.looks.tolist():
        low, high = -1, n
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if anytime_bound(middle, n, ALPHA) <= q else (low, middle)
        most.append(low)
    return np.array([most], np.int64)


def error_rates(log: Results) -> np.ndarray:
    """Of the most voted class: who judges a radius asks about that one."""
    assert log.estimation is not None
    votes = [list(row.values()) for row in log.estimation]
    return np.array([max(1 - max(v) / sum(v), 0.5 / sum(v)) for v in votes])


def row(log: Results, share: float) -> str:
    assert log.header.noise is not None
    rates, sigma = error_rates(log), log.header.noise.scale
    top = 3.8115  # of 100,000 unanimous votes, in σ
    z = round(share * top * sigma / 0.25) * 0.25 / sigma  # a radius of the tables
    cells = [f"{log.name[:44]:44} {z * sigma:5.2f}"]
    grid, where = np.unique(np.round(rates, 6), return_inverse=True)
    for table in tables(z).values():
        both = [curve_power(table, float(q)) for q in grid]
        yes, votes = (np.array(values, float).ravel()[where].mean() for values in zip(*both, strict=True))
        cells.append(f"{votes:8,.0f} {100 * yes:6.2f}")
    most = int(np.searchsorted(error_bound(np.arange(N // 2), N, ALPHA), error_rate(z), side="right")) - 1
    cells.append(f"{N:8,} {100 * float(np.mean(bdtr(most, N, rates))) if most >= 0 else 0.0:6.2f}")
    return " | ".join(cells)


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logs", type=Path, nargs="*", default=sorted((root / "results" / "runs").iterdir()))
    print(f"{'log, radius; then votes an image and % yes':50} | " + " | ".join([*tables(1.0), "paper"]))
    for path in parser.parse_args().logs:
        log = read_results(path)
        for share in SHARES:
            print(row(log, share), flush=True)


if __name__ == "__main__":
    main()
